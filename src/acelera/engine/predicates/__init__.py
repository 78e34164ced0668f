"""From columns to letters: tests of one event, a batch at a time."""
