"""Arrays that grow, rows by number, and snapshots of both."""
