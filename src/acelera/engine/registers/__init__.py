"""What runs remember: terms as instructions, values as numbers."""
