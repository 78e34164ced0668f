"""Machines over normalized changes: tables in, what actions do out."""
