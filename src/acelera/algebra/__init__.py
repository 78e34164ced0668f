"""CERA: relations whose tuples have times, and operators that need nothing of the future to say what ends by now."""
