"""KEEP: which of the matches that end are given, found among nodes without listing what is dropped."""
