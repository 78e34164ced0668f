"""What rules do: commands of SQL, each exactly once, functions, and messages."""
