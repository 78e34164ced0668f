"""Streams made of matches: statements whose complex events are events of later statements."""
