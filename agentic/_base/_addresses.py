"""What may be shown of an address, and how to correct one.

An address may contain a user and a password, and its query may contain a key.
"""

import re

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>]+", re.IGNORECASE)
_HOST = re.compile(r"([\w.-]*|\[[\da-fA-F:.%]*\])(:\d+)?")


def show_address(address: str) -> str:
    """Return an address without its user, password, query and fragment.

    >>> show_address("https://me:secret@host:8000/v1?key=secret")
    'https://host:8000/v1'

    What is not written as an address may contain a password, too, such as one with a `/` in it.

    >>> show_address("me:secret@host/v1"), show_address("http://me:pass/word@host/v1")
    ('host/v1', 'http://host/v1')
    """
    scheme, separator, rest = address.partition("://")
    if not separator:
        scheme, rest = "", address
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    # An @ in a path is no sign of a password: .../models/claude-sonnet-4-5@20250929
    if not separator or not _HOST.fullmatch(authority):
        rest = rest.rpartition("@")[2]
    return scheme + separator + re.sub(r"[?#].+", "", rest, flags=re.DOTALL)


def hide_credentials(text: str) -> str:
    """Return a text in which each address is as `show_address` returns it.

    >>> hide_credentials("403 for url 'https://me:secret@host/v1'")
    "403 for url 'https://host/v1'"
    """
    return _ADDRESS.sub(lambda address: show_address(address[0]), text)


def address_remedy(address: str, otherwise: str = "") -> str:
    """Return what to do about an address without its scheme.

    >>> address_remedy("localhost:8000"), address_remedy("ftp://x", "unset it")
    ('write http://localhost:8000', 'unset it')
    """
    is_host = re.fullmatch(r"[\w.-]+(:\d{1,5})?(/[\w./-]*)?", address)
    return f"write http://{address}" if is_host else otherwise
