"""Run queries on a cluster of Spark's own kind, started on this machine, with the Python of workers sent as an archive.

    python tools/standalone_cluster.py [--archive acelera-env.tar.gz] [--keep]

A master and two workers are processes of their own, which know nothing of the Python that runs this: neither packages
nor PYTHONPATH. The driver is another process; it sends an archive with packages of Python, made first, which holds also
the compiled kernels. A query over a frame, and over a stream that is stopped and started again, must give what it
gives in process, and no worker may compile. All that was started is ended.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TEXT = "SELECT k, a.n, b.n, c.n MATCH A AS a ; B AS b ; C AS c FILTER a.n < c.n PARTITION BY k WITHIN 30 SECONDS"
WORKERS, ROWS, PIECES = 2, 4_000, 4
LAST = 2 * 10**15
"""The time of a last row, which lets all others pass, in microseconds."""
UNPACKED = "environment"
"""The folder into which the archive is unpacked where a worker runs."""


def main() -> int:
    """Make what is missing, start the cluster, run the driver."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archive", type=Path, help="the archive; it is made if there is none, and stays")
    parser.add_argument("--driver", nargs=3, metavar=("MASTER", "ARCHIVE", "FOLDER"), help="only run the driver")
    told = parser.parse_args()
    if told.driver:
        return drive(*told.driver)
    with tempfile.TemporaryDirectory() as made:
        archive = (told.archive or Path(made) / "acelera-env.tar.gz").absolute()
        if not archive.exists():
            said(f"making {archive}")
            pack(archive, Path(made))
        with cluster(Path(made)) as master:
            said(f"{WORKERS} workers at {master}")
            return subprocess.run(
                [sys.executable, str(Path(__file__).absolute()), "--driver", master, str(archive), made],
                env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
                cwd=home_of_the_driver(Path(made)),
                check=False,
            ).returncode


def said(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


# --- the archive --------------------------------------------------------------------------------------------------


def pack(archive: Path, folder: Path) -> None:
    """A plain environment of this Python, with acelera, what its workers need beside it, and the compiled kernels.

    Its links to the Python that it was made by stay as they are, so this must be on the workers, at the same place.
    """
    environment = folder / "environment"
    python = environment / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    wanted = [str(ROOT), "pandas>=2.2,<3", "protobuf>=5"]
    subprocess.run([*install, "--constraint", str(ROOT / "constraints.txt"), *wanted], check=True)
    subprocess.run([str(environment / "bin" / "acelera"), "warm"], env=plain_environment(), check=True)
    with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
        packed.add(environment, arcname=".")
    shutil.rmtree(environment)


def plain_environment() -> dict[str, str]:
    """What processes of the cluster are told: nothing of the Python that runs this."""
    ours = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "NUMBA_CACHE_DIR"}
    known = {name: value for name, value in os.environ.items() if name not in ours}
    return {**known, "PATH": "/usr/local/bin:/usr/bin:/bin", "SPARK_NO_DAEMONIZE": "1", "SPARK_LOCAL_IP": "127.0.0.1"}


def home_of_the_driver(folder: Path) -> Path:
    """A folder where the path to the Python of workers leads to the driver's own: for streams with state, Spark starts
    that Python beside the driver, too.
    """
    home = folder / "driver"
    home.mkdir()
    (home / UNPACKED).symlink_to(sys.prefix)
    return home


# --- the cluster --------------------------------------------------------------------------------------------------


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A master and its workers, which are ended afterwards; the master's address."""
    with ExitStack() as stack:
        master = "org.apache.spark.deploy.master.Master"
        log = folder / "master.log"
        stack.enter_context(running([master, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"], log))
        address = found_in(log, r"Starting Spark master at (spark://\S+)")
        for number in range(WORKERS):
            worker = ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0"]
            log, work = folder / f"worker{number}.log", folder / f"work{number}"
            options = ["--cores", "1", "--memory", "1g", "--work-dir", str(work)]
            stack.enter_context(running([*worker, *options, address], log))
            found_in(log, "Successfully registered with master")
        yield address


@contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[None]:
    """A process of Spark, which `spark-class` becomes."""
    import pyspark

    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    environment = {**plain_environment(), "SPARK_HOME": home, "PATH": os.environ["PATH"]}
    with log.open("wb") as written:
        starter = [str(Path(home, "bin", "spark-class")), *command]
        process = subprocess.Popen(starter, env=environment, stdout=written, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def found_in(log: Path, pattern: str, seconds: float = 60) -> str:
    """What a process says in its log, waited for."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = re.search(pattern, log.read_text(encoding="utf-8", errors="replace"))
        if found:
            return found[found.lastindex or 0]
        time.sleep(0.2)
    raise RuntimeError(f"{log.name} does not say `{pattern}`:\n{log.read_text(encoding='utf-8', errors='replace')}")


# --- the driver ---------------------------------------------------------------------------------------------------


def drive(master: str, archive: str, given: str) -> int:
    """Run everything from here; how many answers are wrong."""
    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession

    import acelera as ac

    folder, table, query = Path(given), events(), ac.query(TEXT)
    os.environ["PYSPARK_PYTHON"] = f"./{UNPACKED}/bin/python"
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("acelera on a cluster")
    for name, value in settings(archive).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    before = spark.sparkContext.parallelize(range(2 * WORKERS), 2 * WORKERS).map(where_it_runs).collect()
    pq.write_table(table, folder / "events.parquet")
    expected = rows_of(query.run(table, order_by="ts"))
    batch = query.run(spark.read.parquet(str(folder / "events.parquet")), order_by="ts")
    answers = {"a frame": rows_of(batch.toArrow()) == expected}
    answers["a stream, stopped and started again"] = rows_of(streamed(spark, query, table, folder)) == expected
    after = spark.sparkContext.parallelize(range(2 * WORKERS), 2 * WORKERS).map(where_it_runs).collect()
    spark.stop()
    places = {place for place, _ in after}
    answers["workers use the archive"] = all(f"/{UNPACKED}/" in place for place in places)
    answers["each worker has it"] = len(places) == WORKERS
    answers["no worker compiled a kernel"] = dict(before) == dict(after)
    for what, right in answers.items():
        said(f"{'right' if right else 'WRONG'}: {what}")
    said(f"{len(expected)} matches; kernels beside each: {sorted({kernels for _, kernels in after})}")
    return sum(not right for right in answers.values())


def settings(archive: str) -> Mapping[str, str]:
    """What the driver says to Spark."""
    store = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    return {
        "spark.archives": f"{archive}#{UNPACKED}",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "1g",
        "spark.sql.shuffle.partitions": str(WORKERS),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": store,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def where_it_runs(_: int) -> tuple[str, int]:
    """On a worker: where acelera is, and how many kernels were compiled beside it."""
    import time
    from pathlib import Path

    import acelera

    time.sleep(0.5)  # so that each of the workers gets some of these
    home = Path(acelera.__file__).absolute().parent
    return str(home), sum(1 for _ in home.rglob("*.nbc"))


def events() -> Any:
    """Events of fifty keys, one every 100 milliseconds."""
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(1)
    times = pa.array(np.arange(ROWS) * 100_000, pa.timestamp("us", "UTC"))
    kinds, keys = random.choice(["A", "B", "C", "D"], ROWS), random.integers(0, 50, ROWS)
    return pa.table({"type": kinds, "k": keys, "n": np.arange(ROWS), "ts": times})


def streamed(spark: Any, query: Any, table: Any, folder: Path) -> Any:
    """The matches of the same events as files that come, of which the second half after a restart."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    incoming, size = folder / "incoming", -(-ROWS // PIECES)
    incoming.mkdir()
    last = pa.table({"type": ["D"], "k": [0], "n": [ROWS], "ts": pa.array([LAST], table.schema.field("ts").type)})
    pieces = [*(table.slice(at, size) for at in range(0, ROWS, size)), last]
    for number, piece in enumerate(pieces):
        pq.write_table(piece.cast(table.schema), incoming / f"{number}.parquet")
        if number not in (PIECES // 2, PIECES):  # until here, and from here on
            continue
        frame = spark.readStream.schema(spark.read.parquet(str(folder / "events.parquet")).schema)
        frame = frame.option("maxFilesPerTrigger", 1).parquet(str(incoming)).withWatermark("ts", "1 second")
        writer = query.run(frame, order_by="ts").writeStream.format("parquet").option("path", str(folder / "out"))
        started = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
        started.awaitTermination()
    return spark.read.parquet(str(folder / "out")).toArrow()


def rows_of(table: Any) -> list[str]:
    """Rows in an order of their own."""
    return sorted(map(repr, table.to_pylist()))


if __name__ == "__main__":
    sys.exit(main())
