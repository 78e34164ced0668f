"""From rules to machines over stages."""
