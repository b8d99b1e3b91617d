"""Redaction of a session file, and of what lies next to it: outputs, title, torn lines.

The lines come last: a redaction that is killed has not been recorded, finds the message again, and
goes on. The old file is replaced, not overwritten: its blocks are the file system's to use again.
"""

import re
from pathlib import Path

from agentic.errors import MessageNotFound
from agentic.history._disk import reporting, sync_folders, write_private
from agentic.history._lines import read_forwards
from agentic.history._log import Log
from agentic.history._outputs import outputs_beside
from agentic.history._redaction import Redacted, Request, log_redaction, redact_lines

__all__ = ["redact_file"]

_REMAINS = re.compile(r"\.(torn-\d+|\w+\.part|title\.\w+\.part)")
"""How the names go on of what killed writers left next to a session file."""


def redact_file(log: Log, request: Request) -> None:
    """Redact a message of the session that this is the log of.

    Raises:
        HistoryConflict: somebody else is the writer.
        HistoryCorrupt: an entry cannot be read.
        HistoryNotWritten: not all of it is done; redacted again, it goes on.
        MessageNotFound: there is no such message.
    """
    path, session = log.path, str(log.path)
    if not path.exists():  # or the claim would make it
        raise MessageNotFound(session, request.message_id)
    end = log.claim()
    with reporting(path), path.open("rb") as file:
        lines = [line.text for line in read_forwards(file)]
    redacted = redact_lines(lines, request, session)
    gone = _remove_outputs(path, redacted)
    _remove_remains(path)
    _change_title(path, request)
    log.rewrite(_join(redacted.lines, end) + request.record(gone) + b"\n")
    log_redaction(request, session)


def _join(lines: list[bytes], size: int) -> bytes:
    """Put lines together, and blanks after them where they are shorter than they were.

    So whoever knows the session up to its former end knows nothing that is there after it.
    """
    content = b"".join(line + b"\n" for line in lines)
    return content if len(content) >= size else content.ljust(size - 1) + b"\n"


def _remove_outputs(path: Path, redacted: Redacted) -> list[str]:
    outputs = outputs_beside(path, fsync=True)
    with reporting(outputs.folder):
        gone = [ref for ref in outputs.refs() if redacted.must_go(ref, outputs.get(ref))]
        for ref in gone:
            (outputs.folder / ref).unlink()
        if outputs.folder.is_dir():
            for left in outputs.folder.glob("*.part"):
                left.unlink()
            sync_folders([outputs.folder])
    return gone


def _remove_remains(path: Path) -> None:
    """Remove what was never acknowledged, and what nobody reads."""
    with reporting(path):
        for other in path.parent.iterdir():
            if other.name.startswith(path.name) and _REMAINS.fullmatch(other.name, len(path.name)):
                other.unlink()


def _change_title(path: Path, request: Request) -> None:
    title = Path(f"{path}.title")
    with reporting(title):
        if not title.exists():
            return
        before = title.read_text("utf-8", "replace")
        after = request.hide_in_title(before)
        if after != before:
            write_private(title, after.encode(), fsync=True)
