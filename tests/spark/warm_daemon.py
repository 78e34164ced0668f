"""The process that Spark's workers are forked from, with all that they import anyway.

Spark's own imports nothing before it forks, since a library might start threads, and so each worker takes a second
before it begins. The libraries here do start some, which are made for being forked.
"""

if __name__ == "__main__":  # pytest looks for examples in every module, also where there is no Spark
    import pyspark.worker  # noqa: F401
    from pyspark.daemon import manager

    import acelera.programs.spark_streaming
    import acelera.stages.kernel.advancing
    import acelera.trepl.on_spark.running_frames
    import acelera.xchangeeq.on_spark  # noqa: F401

    manager()
