"""Summaries: what is counted and added over matches that are never listed."""
