"""What the commands do with programs of rules."""
