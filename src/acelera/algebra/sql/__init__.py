"""Relations as SQL, for DuckDB and for Spark."""
