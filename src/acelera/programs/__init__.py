"""What programs of rules have in common, whatever language they are written in."""
