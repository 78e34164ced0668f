"""One Spark for all tests of this folder that a process runs, and tables that go in and come out."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from acelera.spark.schemas import spark_schema
from acelera.trepl.on_spark import running_frames

OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    # What runs for some minutes: to compile it well takes longer than it saves.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Tables of a few rows: what large ones need only takes time.
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.python.daemon.module": "warm_daemon",  # that of this folder
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A local Spark; tests that change its settings put them back."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: pip install '.[spark]'")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and Path(home, "bin", "java").exists()):
        pytest.skip("Spark needs Java 17 or newer; none is on the PATH and JAVA_HOME is not set")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    builder = sql.SparkSession.builder.master("local[2]").appName("acelera's tests")
    builder = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    for name, value in OPTIONS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # tasks that fail on purpose would print their stack traces
    yield session
    session.stop()


@pytest.fixture
def to_frame(spark: Any) -> Callable[[pa.Table], Any]:
    """A frame of the rows of an Arrow table, in as many parts as there are processors."""
    return lambda table: spark.createDataFrame(table, schema=spark_schema(table.schema))


@pytest.fixture
def conf(spark: Any) -> Iterator[Callable[[str, str], None]]:
    """Sets options of the session for one test."""
    before: dict[str, str] = {}

    def set_to(name: str, value: str) -> None:
        before.setdefault(name, spark.conf.get(name))
        spark.conf.set(name, value)

    yield set_to
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture
def many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """What only pays with many cores is done with two."""
    monkeypatch.setattr(running_frames, "MANY_CORES", 1)
