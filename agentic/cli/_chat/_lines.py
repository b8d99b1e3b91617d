r"""Where requests come from: typed at a prompt, or read from a pipe, one a line.

A line that ends with a backslash goes on in the next one. Empty lines ask for nothing.
"""

import sys
from collections.abc import Iterable, Iterator

__all__ = ["piped", "remember", "typed"]

try:
    import readline
except ImportError:  # an interpreter without it reads plain lines
    readline = None  # type: ignore[assignment]


def typed(words: Iterable[str]) -> Iterator[str]:
    """Prompt until Ctrl-D or Ctrl-C; `words` are completed by the tabulator."""
    _complete(sorted(words))
    try:
        yield from _joined(iter(_prompted, None))
    except (EOFError, KeyboardInterrupt):
        sys.stdout.write("\n")


def piped(source: Iterable[bytes]) -> Iterator[str]:
    """Read the lines of a pipe; bytes that are no UTF-8 become U+FFFD."""
    yield from _joined(line.decode("utf-8", "replace").rstrip("\r\n") for line in source)


def remember(lines: Iterable[str]) -> None:
    """Offer earlier requests to the arrow keys."""
    if readline is not None:
        for line in lines:
            readline.add_history(line)


def _prompted() -> str:
    return input("> ")


def _joined(lines: Iterable[str]) -> Iterator[str]:
    r"""Join what goes on in the next line.

    >>> list(_joined(["one \\", "two", "", "three"]))
    ['one \ntwo', 'three']
    """
    held: list[str] = []
    for line in lines:
        held.append(line.removesuffix("\\"))
        if line.endswith("\\"):
            continue
        if text := "\n".join(held).strip():
            yield text
        held = []
    if text := "\n".join(held).strip():
        yield text


def _complete(words: list[str]) -> None:
    if readline is None:
        return

    def nth(begin: str, state: int) -> str | None:
        found = [word for word in words if word.startswith(begin)] if begin else []
        return found[state] if state < len(found) else None

    readline.set_completer(nth)
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
