"""What partial matches carry: the algebras, and where they are held."""
