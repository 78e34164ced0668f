"""One HTML page about a run of a program: its rules, its events over time, and what each was made from."""
