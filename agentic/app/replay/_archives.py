"""Zip archives that services export: the conversations in them, read without unpacking anything.

An archive comes from elsewhere. Nothing of it is written, so that no name in it leads anywhere; how
many entries it has, and how large they become, is limited before it is read. Exports of ChatGPT and
of Claude.ai hold a `conversations.json`; a log of Inspect (`.eval`) holds a file for each sample
(https://inspect.aisi.org.uk/eval-logs.html, 2026-11).
"""

import json
import re
from io import BytesIO
from typing import Any, BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo

from agentic.app.replay._json_values import Damage, Value, Values, read_values

MAGIC = b"PK\x03\x04"
_ENTRIES = 20_000
_BYTES = 1_000_000_000
"""The most that all files which are read may have together, unpacked."""
_CONVERSATIONS = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_SAMPLES = re.compile(r"samples/[^/]+\.json")
_HEADER = "header.json"


def read_archive(file: BinaryIO) -> Values:
    """Return the values of the conversations in an archive.

    Raises:
        Damage: it is no archive, is too large, or holds no conversations.
    """
    try:
        with ZipFile(file) as archive:
            entries = archive.infolist()
            if len(entries) > _ENTRIES:
                raise Damage(None, f"found an archive with more than {_ENTRIES:,} entries")
            choice = [each for each in entries if _CONVERSATIONS.fullmatch(each.filename)]
            samples = [each for each in entries if _SAMPLES.fullmatch(each.filename)]
            _check_size([*choice, *samples])
            if choice:
                return _merge([read_values(BytesIO(_content(archive, each))) for each in choice])
            if samples:
                return _read_log(archive, samples)
    # What a compression method needs may be missing, or a password be asked for.
    except (BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as problem:
        raise Damage(None, f"found an archive that cannot be read ({problem})") from problem
    raise Damage(None, "found a zip archive without conversations.json and without samples")


def _check_size(entries: list[ZipInfo]) -> None:
    if sum(each.file_size for each in entries) > _BYTES:
        raise Damage(None, f"found an archive with more than {_BYTES:,} bytes of conversations")


def _content(archive: ZipFile, entry: ZipInfo) -> bytes:
    with archive.open(entry) as file:
        # Its header may understate the size.
        content = file.read(entry.file_size + 1)
    if len(content) > entry.file_size:
        raise Damage(None, f"found {entry.filename[:80]!r}, which is larger than it states")
    return content


def _merge(parts: list[Values]) -> Values:
    union = Values()
    for part in parts:
        union.values += part.values
        union.notes += part.notes
        union.damages += part.damages
    return union


def _read_log(archive: ZipFile, samples: list[ZipInfo]) -> Values:
    header: Any = {}
    if _HEADER in archive.namelist():
        header = _json(_content(archive, archive.getinfo(_HEADER)))
    label = header.get("eval") if isinstance(header, dict) else None
    log = {
        "eval": label if isinstance(label, dict) else {},
        "samples": [_json(_content(archive, each)) for each in samples],
    }
    return Values([Value(1, log)])


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise Damage(None, f"a file in this archive is not JSON ({problem})") from problem
