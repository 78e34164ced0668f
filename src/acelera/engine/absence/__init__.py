"""UNLESS … FOR: matches that have ended, and wait to see what happens afterwards."""
