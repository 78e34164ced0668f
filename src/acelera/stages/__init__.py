"""Machines over stages: sets of register rows that move with the events of each stage. No language is known here."""
