"""Threads, forks, other processes and interrupts."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ogive

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes as Unix has them")


def in_child(check: Any) -> int:
    """Runs `check` in a forked child; 0 if it returns true, and the child ends by itself."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            code = 0 if check() else 1
        finally:
            os._exit(code)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -99


def refuses(call: Any) -> bool:
    try:
        call()
    except ogive.ForkedError:
        return True
    return False


def test_many_threads_write_and_read(db: ogive.Db) -> None:
    numbers = db.keyspace("numbers", key=(int, int), value=int)
    failures: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            for number in range(200):
                numbers[thread, number] = number
                assert numbers[thread, number] == number
                if number % 50 == 0:
                    assert len(list(numbers.range(prefix=(thread,)))) == number + 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(numbers) == 1600


def test_one_of_many_threads_removes_a_key(db: ogive.Db) -> None:
    db["a"] = 1
    removed = []

    def work() -> None:
        try:
            del db["a"]
            removed.append(1)
        except KeyError:
            pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert removed == [1]


def test_one_iterator_is_shared_by_threads(db: ogive.Db) -> None:
    db.update({number: number for number in range(5_000)})
    records = iter(db.keys())
    found: list[list[int]] = [[] for _ in range(4)]
    threads = [threading.Thread(target=lambda it: it.extend(records), args=(part,)) for part in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sum(found, [])) == list(range(5_000))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_refused_and_ends(folder: str, tmp_path: Path) -> None:
    with ogive.open(folder) as db:
        db["a"] = 1
        table = ogive.build({1: 2}, to=tmp_path / "t.ogive")
        snapshot, records = db.snapshot(), db.range()

        def check() -> bool:
            nonlocal db, table, snapshot, records
            calls = [
                lambda: db["a"], lambda: db.batch(), lambda: table[1], lambda: snapshot["a"], lambda: next(records),
                lambda: db.close(), lambda: db.multi_get(["a"]),
            ]  # fmt: skip
            refused = all(refuses(call) for call in calls)
            # Handles of the parent are dropped without a wait for its threads.
            db = table = snapshot = records = None
            return refused and ogive.Table(tmp_path / "t.ogive")[1] == 2

        assert in_child(check) == 0
        assert db["a"] == 1
        db["b"] = 2


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_lock_is_of_the_process_that_took_it(folder: str, tmp_path: Path) -> None:
    paths: list[tuple[Any, Any]] = [(ogive.open, folder), (ogive.Index, tmp_path / "a.idx")]
    opened = [open(path) for open, path in paths]
    (closed_out, closed_in), (tried_out, tried_in) = os.pipe(), os.pipe()

    def check() -> bool:
        for handle, (open, path) in zip(opened, paths, strict=True):
            with pytest.raises(ogive.ForkedError, match="read_only=True while the parent has it open"):
                len(handle)
            wait = r"wait until it is closed there, with wait=10\.0"
            told = rf"by (another process|process \d+); (close it there|{wait}), or open it with read_only=True"
            with pytest.raises(ogive.Locked, match=told):
                open(path)
            assert len(open(path, read_only=True)) == 0
        os.write(tried_in, b"1")
        os.read(closed_out, 1)
        # The parent has closed them.
        for open, path in paths:
            with open(path):
                pass
        return True

    def close() -> None:
        os.read(tried_out, 1)
        for handle, (open, path) in zip(opened, paths, strict=True):
            handle.close()
            # Although the child has the files open, too.
            open(path).close()
        os.write(closed_in, b"1")

    closing = threading.Thread(target=close)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if check() else 1)
        except BaseException:
            traceback.print_exc()
            os._exit(2)
    closing.start()
    closing.join(60)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def reader_of(folder: str, written: Any, answers: Any) -> None:
    reader = ogive.open(folder, read_only=True)
    while (number := written.get()) is not None:
        reader.refresh()
        answers.put(reader.get(number))


def test_workers_follow_one_writer(folder: str) -> None:
    context = multiprocessing.get_context("spawn")
    written, answers = context.Queue(), context.Queue()
    with ogive.open(folder, key=int, value=str) as db:
        db[0] = "0"
        worker = context.Process(target=reader_of, args=(folder, written, answers))
        worker.start()
        for number in range(1, 6):
            db[number] = str(number)
            written.put(number)
            assert answers.get(timeout=60) == str(number)
        written.put(None)
        worker.join(60)
        assert worker.exitcode == 0


def test_another_process_is_told_that_the_store_is_locked(folder: str) -> None:
    code = f"import ogive\ntry:\n    ogive.open({folder!r})\nexcept ogive.Locked as error:\n    print('locked', error)"
    with ogive.open(folder):
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout.startswith("locked") and folder in found.stdout
    assert f"process {os.getpid()}" in found.stdout


def test_processes_that_wait_write_one_after_the_other(folder: str) -> None:
    code = f"import ogive, sys\nwith ogive.open({folder!r}, key=str, value=int, wait=120) as db:\n    db[sys.argv[1]] = 1"
    writers = [subprocess.Popen([sys.executable, "-c", code, str(number)]) for number in range(4)]
    assert [writer.wait(120) for writer in writers] == [0] * 4
    with ogive.open(folder, wait=120) as db:
        assert sorted(db) == ["0", "1", "2", "3"]
    with pytest.raises(ogive.InvalidArgument, match="no time to wait"):
        ogive.open(folder, wait=-1)


def endless() -> Iterator[tuple[int, int]]:
    number = 0
    while True:
        number += 1
        yield number * 7919 % 1_000_003, number


def test_an_interrupt_ends_a_build_and_leaves_nothing(tmp_path: Path) -> None:
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ogive.build(endless(), to=tmp_path / "t.ogive", memory="1MiB")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_ends_a_build_of_a_stream(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    schema = pa.schema([("k", pa.int64())])

    def batches() -> Iterator[Any]:
        numbers = np.random.default_rng(1)
        while True:
            yield pa.record_batch([numbers.integers(0, 1 << 60, 10_000)], schema=schema)

    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        reader = pa.RecordBatchReader.from_batches(schema, batches())
        ogive.build(reader, key="k", to=tmp_path / "t.ogive", memory="1MiB")
    assert list(tmp_path.iterdir()) == []


def test_an_exception_of_an_iterator_ends_a_build(tmp_path: Path) -> None:
    def failing() -> Iterator[tuple[int, int]]:
        yield 1, 1
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        ogive.build(failing(), to=tmp_path / "t.ogive")
    assert list(tmp_path.iterdir()) == []


def test_other_threads_run_while_a_table_is_built(tmp_path: Path) -> None:
    ticks = 0
    ended = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not ended.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    ogive.build(np.random.default_rng(1).integers(0, 1 << 60, 1_000_000), to=tmp_path / "t.ogive")
    ended.set()
    thread.join()
    assert ticks > 5


def test_an_interrupt_ends_a_load_of_arrays_wherever_it_comes(tmp_path: Path) -> None:
    keys = np.random.default_rng(1).permutation(1_500_000)
    for number, delay in enumerate((0.005, 0.01, 0.02, 0.03, 0.05)):
        with ogive.Index(tmp_path / f"{number}.idx", key=int, value=int, durability="buffered") as ix:
            timer = threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT))
            with pytest.raises(KeyboardInterrupt):
                timer.start()
                ix.load(keys, keys, progress=False)
            assert len(ix) == 0


def test_an_interrupt_ends_look_ups_of_many_keys(tmp_path: Path) -> None:
    table = ogive.build(((number, number) for number in range(100_000)), to=tmp_path / "t.ogive")
    many = np.random.default_rng(1).integers(0, 100_000, 20_000_000)
    for look_up in (lambda: table.multi_get(many), lambda: table.multi_get(key for key, _ in endless())):
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            look_up()
    assert table[7] == 7
