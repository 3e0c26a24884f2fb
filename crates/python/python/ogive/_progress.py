"""Progress of long work: by tqdm where it is installed, else as a line in the terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

_SHOWN_AFTER_S = 1.0
_SHOWN_EVERY_S = 0.2


def _is_watched() -> bool:
    """Whether somebody watches: in a terminal, or in a notebook."""
    if "ipykernel" in sys.modules:
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


class Progress:
    """A progress bar, which the native module calls with what is done, of how much; 0 if that is unknown."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._started = time.monotonic()
        self._shown = 0.0
        self._bar: Any = None
        self._has_line = False

    @classmethod
    def start(cls, title: str, wanted: bool | None) -> _Optional:
        """Begins to show progress: if it is wanted, or by default if somebody watches."""
        return _Optional(cls(title) if (_is_watched() if wanted is None else wanted) else None)

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._started < _SHOWN_AFTER_S or now - self._shown < _SHOWN_EVERY_S:
            return
        self._shown = now
        if self._bar is None and not self._has_line:
            try:
                from tqdm.auto import tqdm

                self._bar = tqdm(desc=self._title, total=total or None, unit="", unit_scale=True)
            except ImportError:
                self._has_line = True
        if self._bar is not None:
            self._bar.total = total or None
            self._bar.n = done
            self._bar.refresh()
        elif self._has_line:
            share = f"{100 * done // total} %" if total else f"{done:,}"
            print(f"\r{self._title}: {share} ", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Ends the line."""
        if self._bar is not None:
            self._bar.close()
        elif self._has_line:
            print(file=sys.stderr)


class _Optional:
    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress

    def __enter__(self) -> Progress | None:
        return self._progress

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.close()
