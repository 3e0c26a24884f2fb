"""Storages and designs: :func:`profile`, :class:`Profile`, :func:`tune`, :class:`Designs`."""

from __future__ import annotations

import html
import importlib
import json
import os
import tempfile
import weakref
from dataclasses import dataclass
from typing import Any

from . import _internal
from ._errors import InvalidArgument
from ._paths import PathLike, name_text, path_text
from ._progress import Progress
from ._sizes import size_bytes
from ._table import PARQUET_ENDINGS, Table, _is_numpy, build, parquet_reading


def _bytes(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:,.4g} {unit}"
        size /= 1024
    return f"{size:,.4g} GiB"


def _us(time: float) -> str:
    return f"{time:,.1f} us" if time < 1000 else f"{time / 1000:,.4g} ms"


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        pass


class Profile:
    """What a storage costs: the time to read so many bytes, and how many reads it serves at once.

    It is taken wherever ``profile=`` is, as the name of a known storage is: ``"nvme"``, ``"ssd"``, ``"hdd"``, ``"nfs"``,
    ``"s3"``.

    >>> import ogive
    >>> nvme, s3 = ogive.Profile("nvme"), ogive.Profile("s3")
    >>> nvme.time_us(4096) < s3.time_us(4096), nvme.name
    (True, 'nvme')
    >>> table = ogive.tune(range(10_000), profile=s3)
    """

    def __init__(self, name: PathLike) -> None:
        """A known storage by its name, or one of a file that :meth:`save` wrote."""
        self._set(json.loads(_internal.profile_of(path_text(name))))

    def _set(self, facts: dict[str, Any]) -> None:
        #: Its name; of a folder, the path.
        self.name: str = facts["name"]
        #: The number of reads that it serves at once.
        self.parallel: int = facts["parallel"]
        #: Most megabytes a second of all reads together, if known.
        self.peak_mb_per_s: float | None = facts["peak_mb_per_s"]
        #: Sizes of reads in bytes, with their times in microseconds.
        self.points: list[tuple[int, float]] = [(point["size_bytes"], point["time_us"]) for point in facts["points"]]
        #: What makes the measurement doubtful, if anything.
        self.warning: str | None = facts.get("warning")
        self._facts = facts
        self._file: str | None = None

    @classmethod
    def _of(cls, facts: dict[str, Any]) -> Profile:
        self = cls.__new__(cls)
        self._set(facts)
        return self

    def time_us(self, size: int | str) -> float:
        """Time to read so many bytes, in microseconds; between the points, in proportion."""
        wanted = size_bytes(size) or 0
        (low, low_us), (high, high_us) = self.points[0], self.points[1]
        for (low, low_us), (high, high_us) in zip(self.points, self.points[1:], strict=False):
            if wanted <= high:
                break
        return max(low_us + (high_us - low_us) * (wanted - low) / (high - low), 0.0)

    def save(self, path: PathLike) -> None:
        """Writes the profile to a file, for ``profile=`` and for ``ogive build --for``."""
        target = path_text(path)
        with tempfile.NamedTemporaryFile(
            "w", dir=os.path.dirname(os.path.abspath(target)), suffix=".ogive-tmp", delete=False
        ) as file:
            json.dump(self._facts["file"], file, indent=2)
        os.chmod(file.name, 0o644)
        os.replace(file.name, target)

    def __fspath__(self) -> str:
        """The name of a known storage, or a temporary file with the profile, which lasts as long as this object."""
        if self._file is None:
            if json.loads(_known(self.name)).get("file") == self._facts["file"]:
                return self.name
            with tempfile.NamedTemporaryFile("w", prefix="ogive-", suffix=".json", delete=False) as file:
                json.dump(self._facts["file"], file)
            self._file = file.name
            weakref.finalize(self, _remove, file.name)
        return self._file

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Profile) and self._facts["file"] == other._facts["file"]

    def __hash__(self) -> int:
        return hash((self.name, self.parallel))

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return Profile._of, (self._facts,)

    def __repr__(self) -> str:
        times = "\n".join(f"  {_bytes(size):>10}  {_us(time):>12}" for size, time in self.points[::3])
        return f"<ogive.Profile {self.name!r}: {self.parallel} reads at once>\n{times}"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{_bytes(size)}</td><td>{_us(time)}</td></tr>" for size, time in self.points)
        return (
            f"<table><caption>{html.escape(self.name)}: about {self.parallel} reads at once</caption>"
            f"<thead><tr><th>read</th><th>time</th></tr></thead><tbody>{rows}</tbody></table>"
        )


def _known(name: str) -> str:
    try:
        return _internal.profile_of(name)
    except (OSError, ValueError):
        return "{}"


def profile(
    path: PathLike,
    *,
    seconds: float = 14.0,
    file_size: int | str = "256MiB",
    progress: bool | None = None,
) -> Profile:
    """Measures the storage of a folder, or of a URL such as ``"s3://bucket/prefix"``.

    A temporary file of ``file_size`` bytes, which should exceed the cache of the device, is read past the page cache,
    and removed. It takes about ``seconds``; longer is more stable. After Ctrl-C the measurement ends in the background.

    >>> import ogive, tempfile
    >>> measured = ogive.profile(tempfile.gettempdir(), seconds=0.2, file_size="20MiB")
    >>> measured.parallel >= 1, measured.time_us(4096) > 0
    (True, True)
    """
    place = path_text(path)
    if "://" not in place and os.path.isfile(place):
        place = os.path.dirname(place) or "."
    with Progress.start(f"measuring {place}", progress) as shown:
        found = _internal.measure_storage(place, float(seconds), size_bytes(file_size) or 0, shown)
    return Profile._of(json.loads(found))


@dataclass(frozen=True)
class Design:
    """A design of an index, as it was built over the records."""

    #: Its name, as ``ogive.build(design=...)`` takes it.
    name: str
    #: Predicted time of a cold look-up, the read that opens the table included, in microseconds.
    predicted_us: float
    #: The same on each named storage.
    modelled_us: dict[str, float]
    #: Layers of the index, root last: ``kind``, ``nodes``, ``size_bytes``, ``mean_read_bytes``.
    layers: list[dict[str, Any]]
    #: Bytes of the index, and of the data.
    index_bytes: int
    data_bytes: int
    #: Size of a block of data, and how many there are.
    block_size_bytes: int
    blocks: int
    #: Number of reads of a cold look-up.
    reads: int


class Designs:
    """Designs compared, in the order of their predicted times; see :func:`tune`."""

    def __init__(self, facts: dict[str, Any]) -> None:
        #: Name of the storage that times are predicted for.
        self.profile: str = facts["profile"]
        self._svg: str = facts["svg"]
        self._html: str = facts["html"]
        built = [
            Design(
                name=it["design"],
                predicted_us=it["predicted_us"],
                modelled_us=it["modelled_us"],
                layers=it["layers"],
                index_bytes=it["index_bytes"],
                data_bytes=it["data_bytes"],
                block_size_bytes=it["block_size_bytes"],
                blocks=it["blocks"],
                reads=it["reads_per_get"]["cold"],
            )
            for it in facts["designs"]
        ]
        #: The designs, the fastest first.
        self.designs: list[Design] = sorted(built, key=lambda design: design.predicted_us)
        #: Designs that do not support the keys, with the reasons.
        self.left_out: dict[str, str] = dict(facts["left_out"])

    @property
    def best(self) -> Design:
        """The fastest design."""
        return self.designs[0]

    def __len__(self) -> int:
        return len(self.designs)

    def __iter__(self) -> Any:
        return iter(self.designs)

    def __getitem__(self, name: str) -> Design:
        for design in self.designs:
            if design.name == name:
                return design
        raise KeyError(name)

    def to_pylist(self) -> list[dict[str, Any]]:
        """The designs as dictionaries, for ``polars.DataFrame`` or ``pandas.DataFrame``."""
        return [
            {
                "design": design.name,
                "predicted_us": design.predicted_us,
                "reads": design.reads,
                "layers": [layer["kind"] for layer in design.layers],
                "index_bytes": design.index_bytes,
                "block_size_bytes": design.block_size_bytes,
                "blocks": design.blocks,
            }
            for design in self.designs
        ]

    def plot(self, axes: Any = None) -> Any:
        """Draws the predicted times as bars, by matplotlib; returns the axes."""
        if axes is None:
            try:
                pyplot = importlib.import_module("matplotlib.pyplot")
            except ImportError:
                raise ImportError("this needs matplotlib; install it: pip install matplotlib") from None
            axes = pyplot.figure().add_subplot()
        names = [design.name for design in reversed(self.designs)]
        axes.barh(names, [design.predicted_us for design in reversed(self.designs)])
        axes.set_xlabel(f"predicted cold look-up on {self.profile} (µs)")
        return axes

    def __repr__(self) -> str:
        width = max(len(design.name) for design in self.designs)
        lines = [f"predicted cold look-up on {self.profile}:"]
        for it in self.designs:
            layers = ", ".join(layer["kind"] for layer in reversed(it.layers)) or "none"
            lines.append(
                f"  {it.name:<{width}}  {_us(it.predicted_us):>12}  {it.reads} reads  index {_bytes(it.index_bytes):>10}  "
                f"blocks of {_bytes(it.block_size_bytes)}; layers, root first: {layers}"
            )
        lines += [f"  {name}: left out: {reason}" for name, reason in self.left_out.items()]
        return "\n".join(lines)

    def _repr_svg_(self) -> str:
        return self._svg

    def _repr_html_(self) -> str:
        return self._html


def tune(
    data: Any,
    *,
    profile: PathLike = "nvme",
    key: Any = None,
    value_size: int | str = 0,
    designs: list[str] | None = None,
    block_size: int | str | None = None,
    nanoseconds: list[str] | None = None,
    ignore_table_log: bool = False,
    progress: bool | None = None,
) -> Designs:
    """Compares designs of an index over keys, for a storage: each is built in full, priced, and discarded.

    ``data`` is a list or array of keys, of the type ``key`` if that is stated, with values of ``value_size`` bytes; or a
    table, or the path of one; or a frame, a Parquet or a CSV file, whose key is the column ``key``. ``designs`` adds
    designs to compare, as ``ogive.build`` takes them; ``block_size`` is that of designs that do not choose it.
    ``nanoseconds`` and ``ignore_table_log`` are of Parquet files, as in :func:`ogive.build`.

    >>> import ogive
    >>> designs = ogive.tune(range(100_000), value_size=16, profile="s3")
    >>> designs.best.name, "btree" in [design["design"] for design in designs.to_pylist()]
    ('tuned', True)
    """
    comparison = {
        "profile": path_text(profile),
        "designs": [name_text(design, "a design") for design in designs or []],
        "block_bytes": size_bytes(block_size),
    }
    with Progress.start("comparing designs", progress) as shown:
        if isinstance(data, Table):
            return Designs(json.loads(_internal.tune_table(data, comparison, shown)))
        is_path = isinstance(data, (str, os.PathLike))
        if is_path and not path_text(data).endswith((*PARQUET_ENDINGS, ".csv")):
            with Table(data) as table:
                return Designs(json.loads(_internal.tune_table(table, comparison, shown)))
        if is_path or _is_frame(data):
            with tempfile.TemporaryDirectory(prefix="ogive-") as folder:
                to = os.path.join(folder, "table")
                reading = parquet_reading(nanoseconds, ignore_table_log)
                with build(data, key=key, to=to, design="coded", progress=False, **reading) as table:
                    return Designs(json.loads(_internal.tune_table(table, comparison, shown)))
        size = size_bytes(value_size) or 0
        if size >= 1 << 20:
            raise InvalidArgument(f"values of {size} bytes are not in the blocks of a table")
        return Designs(json.loads(_internal.tune_keys(data, key, size, comparison, shown)))


def _is_frame(data: Any) -> bool:
    """Whether it has columns: one of pandas, polars or pyarrow, but no array."""
    return not _is_numpy(data) and (hasattr(data, "column_names") or (hasattr(data, "columns") and hasattr(data, "dtypes")))
