"""A running query: what comes in, what matches, what goes out."""
