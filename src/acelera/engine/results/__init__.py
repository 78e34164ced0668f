"""From matches to rows: what is shown of them, column by column."""
