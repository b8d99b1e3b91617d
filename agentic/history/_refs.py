"""References to kept outputs: what they look like, and which text one stands for.

A reference is `out-` and the first 16 hex digits of the SHA-256 of the text, in UTF-8 with lone
surrogates in their surrogatepass form.
"""

import hashlib
import re

from agentic.errors import ConfigError

__all__ = ["check_ref", "decode_output", "encode_output", "is_ref", "make_ref"]

_REF = re.compile(r"out-[0-9a-f]{16}")


def encode_output(given: object) -> bytes:
    """Return an output as it is kept.

    >>> encode_output("1 failed")
    b'1 failed'

    Raises:
        ConfigError: no text.
    """
    if not isinstance(given, str):
        raise ConfigError("output", given, "a str", "decode bytes before they are kept")
    return given.encode("utf-8", "surrogatepass")


def decode_output(content: bytes, ref: str) -> str:
    """Return the text that was kept under a reference.

    Raises:
        ValueError: this is not that text.
    """
    if make_ref(content) != ref:
        raise ValueError("the content does not match the digest in its reference")
    return content.decode("utf-8", "surrogatepass")


def make_ref(content: bytes) -> str:
    """Return the reference of an encoded output.

    >>> make_ref(b"1 failed")
    'out-91bd58c83335b24d'
    """
    return f"out-{hashlib.sha256(content).hexdigest()[:16]}"


def check_ref(given: object) -> str:
    """Return a reference, or raise with an example of one.

    >>> check_ref("out-0123456789abcdef")
    'out-0123456789abcdef'

    Raises:
        ConfigError: anything else, such as a path.
    """
    if not isinstance(given, str) or not is_ref(given):
        raise ConfigError(
            "ref",
            given,
            "out- and 16 hex digits, as put() returns it",
            "copy the reference from the notice of the output",
        )
    return given


def is_ref(text: str) -> bool:
    """Return whether a text has the form of a reference.

    >>> is_ref("../session.jsonl")
    False
    """
    return _REF.fullmatch(text) is not None
