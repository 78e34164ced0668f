"""What all languages of rules share: programs, whose rules make events that other rules may use."""
