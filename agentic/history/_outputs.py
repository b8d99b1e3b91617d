"""The whole tool outputs that a store keeps: their references, and a folder for them.

A reference is `out-` and the first 16 hex digits of the SHA-256 of the text, in UTF-8 with lone
surrogates in their surrogatepass form. In a folder, each output is a file of mode 0600 with that
name. A damaged file is detected when it is read, and repaired when the same output is stored again.
"""

import hashlib
import re
from pathlib import Path

import attrs

from agentic.errors import ConfigError, HistoryCorrupt, OutputNotFound
from agentic.history._disk import make_folders, reporting, sync_folders, write_private

REF = re.compile(r"out-[0-9a-f]{16}")


def encode_output(output: object) -> bytes:
    """Return an output as the bytes that are stored, or raise ConfigError if it is not a str.

    >>> encode_output("1 failed")
    b'1 failed'
    """
    if not isinstance(output, str):
        raise ConfigError("output", output, "a str", "decode bytes before they are kept")
    return output.encode("utf-8", "surrogatepass")


def decode_output(content: bytes, ref: str) -> str:
    """Return the text that was stored under a reference, or raise ValueError if it is another."""
    if make_ref(content) != ref:
        raise ValueError("the content does not match the digest in its reference")
    return content.decode("utf-8", "surrogatepass")


def read_output(content: bytes | None, ref: str, session: str) -> str:
    """Return the text that a session stored under a reference.

    Raises:
        HistoryCorrupt: the content was changed since it was written.
        OutputNotFound: there is no such output.
    """
    if content is None:
        raise OutputNotFound(session, ref)
    try:
        return decode_output(content, ref)
    except ValueError as problem:
        raise HistoryCorrupt(f"output {ref} of {session}", 0, str(problem)) from problem


def make_ref(content: bytes) -> str:
    """Return the reference of an encoded output.

    >>> make_ref(b"1 failed")
    'out-91bd58c83335b24d'
    """
    # 64 bits: a model has to copy it, and only the outputs of one session must differ.
    return f"out-{hashlib.sha256(content).hexdigest()[:16]}"


def check_ref(ref: object) -> str:
    """Return a reference, or raise ConfigError for anything else, such as a path.

    >>> check_ref("out-0123456789abcdef")
    'out-0123456789abcdef'
    """
    if not isinstance(ref, str) or not REF.fullmatch(ref):
        raise ConfigError(
            "ref",
            ref,
            "out- and 16 hex digits, as put() returns it",
            "copy the reference from the notice of the output",
        )
    return ref


@attrs.frozen
class Outputs:
    """The outputs of the session in a file, whether or not it exists.

    >>> Outputs(Path("monday.jsonl"), fsync=False).folder.name
    'monday.jsonl.outputs'
    """

    path: Path
    fsync: bool

    @property
    def folder(self) -> Path:
        """The folder of the outputs."""
        return Path(f"{self.path}.outputs")

    def put(self, content: bytes) -> str:
        """Store an encoded output, unless it is already there, and return its reference."""
        ref = make_ref(content)
        path = self.folder / ref
        with reporting(path):
            if not self.folder.is_dir():
                make_folders(self.folder)
                if self.fsync:
                    sync_folders([self.folder.parent])
            # The name is a digest of the content, so the same output is written once. The content
            # is compared as well, because somebody may have changed the file.
            if not path.is_file() or path.read_bytes() != content:
                write_private(path, content, fsync=self.fsync)
        return ref

    def get(self, ref: str) -> bytes | None:
        """Return an encoded output; None if it was never stored here."""
        try:
            return (self.folder / ref).read_bytes()
        except FileNotFoundError:
            return None

    def refs(self) -> list[str]:
        """Return the references of all stored outputs."""
        if not self.folder.is_dir():
            return []
        # A killed writer may have left half an output here, under another name.
        return sorted(path.name for path in self.folder.iterdir() if REF.fullmatch(path.name))
