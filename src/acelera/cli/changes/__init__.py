"""What the commands do with programs over changes of tables."""
