"""Whole tool outputs in a folder beside a session, a file of mode 0600 for each.

A file is named by its reference, which is a digest of its content: what is damaged is noticed when
it is read, and put right when the same output is kept again.
"""

from pathlib import Path

import attrs

from agentic.errors import HistoryCorrupt, OutputNotFound
from agentic.history._disk import make_folders, reporting, sync_folders, write_private
from agentic.history._refs import check_ref, decode_output, encode_output, is_ref, make_ref

__all__ = ["Outputs", "outputs_beside"]


@attrs.frozen
class Outputs:
    """The outputs of one session."""

    session: str
    """What it is called in an error."""
    folder: Path
    fsync: bool

    def write(self, output: str) -> str:
        """Keep an output and give its reference.

        Raises:
            ConfigError: no text.
            HistoryNotWritten: it is not kept.
        """
        content = encode_output(output)
        ref = make_ref(content)
        self.put(ref, content)
        return ref

    def put(self, ref: str, content: bytes) -> None:
        """Keep an encoded output, unless it is there.

        Raises:
            HistoryNotWritten: it is not kept.
        """
        path = self.folder / ref
        with reporting(path):
            self._make_folder()
            if not path.is_file() or path.read_bytes() != content:
                write_private(path, content, fsync=self.fsync)

    def read(self, ref: str) -> str:
        """Return a kept output.

        Raises:
            ConfigError: no reference, a path for instance.
            HistoryCorrupt: the file is not as it was written.
            OutputNotFound: it was never kept here.
        """
        check_ref(ref)
        try:
            return decode_output(self.get(ref), ref)
        except FileNotFoundError:
            raise OutputNotFound(self.session, ref) from None
        except ValueError as problem:
            raise HistoryCorrupt(str(self.folder / ref), 0, str(problem)) from problem

    def get(self, ref: str) -> bytes:
        """Return the encoded output.

        Raises:
            OSError: it is not there, or cannot be read.
        """
        return (self.folder / ref).read_bytes()

    def refs(self) -> list[str]:
        """Name what is kept here."""
        if not self.folder.is_dir():
            return []
        return sorted(path.name for path in self.folder.iterdir() if is_ref(path.name))

    def _make_folder(self) -> None:
        if not self.folder.is_dir():
            make_folders(self.folder)
            if self.fsync:
                sync_folders([self.folder.parent])


def outputs_beside(path: Path, *, fsync: bool) -> Outputs:
    """Return the outputs of the session in this file, there or not.

    >>> outputs_beside(Path("monday.jsonl"), fsync=False).folder.name
    'monday.jsonl.outputs'
    """
    return Outputs(str(path), Path(f"{path}.outputs"), fsync)
