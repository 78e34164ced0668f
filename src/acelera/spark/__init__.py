"""The pipeline: a Spark DataFrame in, a Spark DataFrame out."""
