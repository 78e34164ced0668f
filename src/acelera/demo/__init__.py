"""Data and queries of `acelera demo`."""
