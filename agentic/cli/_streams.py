"""Where bytes come from: a named file, or `-` for stdin."""

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import cast

import click

__all__ = ["ends", "opened"]


@contextlib.contextmanager
def opened(file: str) -> Iterator[BufferedReader]:
    """Open a file, or take stdin for `-`, which stays open."""
    if not file:
        raise click.UsageError("the name of a file is empty: name one, or - for stdin")
    if file != "-":
        with Path(file).open("rb") as source:
            yield source
    elif sys.stdin is None:
        raise click.UsageError("stdin is closed: name a file")
    else:
        yield cast("BufferedReader", sys.stdin.buffer)


def ends(source: BufferedReader) -> bool:
    """Tell whether a source is a file, which has an end; a pipe or a device may have none."""
    try:
        return stat.S_ISREG(os.fstat(source.fileno()).st_mode)
    except OSError:  # bytes in memory
        return True
