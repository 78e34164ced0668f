"""The process that Spark's workers are forked from, with all that they import anyway.

Spark's own imports nothing, since a library might start threads, and so each worker takes a second before it begins.
"""

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import acelera.spark  # noqa: F401

if __name__ == "__main__":
    manager()
