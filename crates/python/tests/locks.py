"""Objects that some threads use while others close them, or take what is in them: no call waits forever."""

from __future__ import annotations

import faulthandler
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

import pyarrow

import ogive

faulthandler.dump_traceback_later(40, exit=True)
sys.setswitchinterval(1e-5)
folder = tempfile.mkdtemp()
db = ogive.open(folder + "/s", key=int, value=str)
db.update({key: str(key) for key in range(2_000)})
db.flush()
index = ogive.Index(folder + "/a.idx", key=int, value=int)
index.update({key: key for key in range(100)})


def at_once(rounds: int, make: Callable[[], Any], use: Callable[[Any], Any], end: Callable[[Any], Any]) -> None:
    for _ in range(rounds):
        made = make()
        begun = threading.Event()

        def work() -> None:
            try:
                for _ in range(50):
                    use(made)
                    begun.set()
            except ogive.OgiveError:
                pass
            finally:
                begun.set()

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        begun.wait()
        try:
            end(made)
        except ogive.OgiveError:
            pass
        for thread in threads:
            thread.join()


def close(made: Any) -> None:
    made.close()


at_once(50, db.snapshot, lambda snapshot: snapshot.get(5), close)
at_once(20, db.snapshot, lambda snapshot: snapshot.multi_get([1, 2]), close)
at_once(20, index.snapshot, lambda snapshot: snapshot.get(5), close)
at_once(20, db.scan, lambda rows: next(rows._reader, None), pyarrow.RecordBatchReader.from_stream)
at_once(20, lambda: ogive.open(folder + "/s", read_only=True), lambda reader: reader.get(5), close)
at_once(5, lambda: ogive.open(folder + "/s", read_only=True), lambda reader: reader.refresh(), close)
print("done")
