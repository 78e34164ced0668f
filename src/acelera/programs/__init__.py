"""What all languages of rules share: how events come in and go out, sessions, and what an engine must be able to do."""
