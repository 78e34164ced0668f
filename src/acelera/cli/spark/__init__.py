"""`acelera run` on Spark."""
