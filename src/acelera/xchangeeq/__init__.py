"""XChangeEQ: rules over events that last, with timers, absence and collection."""
