"""Explanations of look-ups: :class:`Explanation`, :class:`Read`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Read:
    """A range of a file that a look-up reads."""

    #: What it is for: ``"open"``, ``"layer 1"``, ``"data"``, ``"filter"``, ``"value"``.
    purpose: str
    #: Offset in the file, in bytes.
    offset: int
    #: Length in bytes.
    size_bytes: int
    #: Modelled time on each named storage, in microseconds.
    modelled_us: dict[str, float]


class Explanation:
    """The reads of a look-up, from a file that is not open and not cached.

    >>> import ogive, tempfile
    >>> table = ogive.build({i: i for i in range(10_000)}, to=tempfile.mkdtemp() + "/t.ogive")
    >>> explanation = table.explain(42)
    >>> explanation.found, [read.purpose for read in explanation.reads]
    (True, ['open', 'data'])
    """

    def __init__(self, facts: dict[str, Any]) -> None:
        #: The path or URL of the file.
        self.path: str = facts["path"]
        #: The key, as text.
        self.key: str = facts["key"]
        #: Whether it is there.
        self.found: bool = facts["found"]
        #: Length of the file.
        self.file_bytes: int = facts["file_bytes"]
        self._svg: str = facts["svg"]
        self._html: str = facts["html"]
        #: The reads, in order.
        self.reads: list[Read] = [Read(**read) for read in facts["reads"]]

    @property
    def size_bytes(self) -> int:
        """Bytes of all reads together."""
        return sum(read.size_bytes for read in self.reads)

    def modelled_us(self, profile: str) -> float:
        """Modelled time of the reads one after the other, in microseconds, on a named storage."""
        return sum(read.modelled_us[profile] for read in self.reads)

    def __repr__(self) -> str:
        lines = [f"{self.key} in {self.path}: {'found' if self.found else 'absent'}"]
        width = max((len(read.purpose) for read in self.reads), default=0)
        for read in self.reads:
            lines.append(f"  {read.purpose:<{width}}  {read.size_bytes:>12,} B at {read.offset:>16,}")
        times = ", ".join(f"{self.modelled_us(name):,.0f} us on {name}" for name in ("nvme", "s3"))
        lines.append(f"  {len(self.reads)} reads, {self.size_bytes:,} B; modelled {times}")
        return "\n".join(lines)

    def _repr_svg_(self) -> str:
        return self._svg

    def _repr_html_(self) -> str:
        return self._html
