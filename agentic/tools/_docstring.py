"""What a docstring in Google's style says: the text before its sections, and its arguments.

https://google.github.io/styleguide/pyguide.html#383-functions-and-methods (2026-11).
"""

import re
import textwrap
from itertools import takewhile

__all__ = ["describe_arguments", "describe_function"]

_SECTION = re.compile(
    r"(Args|Arguments|Parameters|Returns|Yields|Raises|Examples?|Notes?|Warnings?|See Also|Todo):"
)
_ARGUMENT = re.compile(r"(?P<name>\w+)\s*(\(.*?\))?\s*:(?P<text>.*)")


def describe_function(docstring: str) -> str:
    r"""Return the text before the first section.

    >>> describe_function("Read a file.\n\nArgs:\n    path: Where it is.")
    'Read a file.'
    """
    lines = docstring.split("\n")
    return "\n".join(takewhile(lambda line: not _SECTION.fullmatch(line.rstrip()), lines)).strip()


def describe_arguments(docstring: str) -> dict[str, str]:
    r"""Return the description of each argument in the section Args, on one line.

    >>> describe_arguments("Read.\n\nArgs:\n    path (str): Where it is,\n        relative.")
    {'path': 'Where it is, relative.'}
    """
    described: dict[str, list[str]] = {}
    texts: list[str] = []
    for line in _arguments_section(docstring).split("\n"):
        found = _ARGUMENT.match(line)
        if found:
            texts = described.setdefault(found["name"], [])
        texts.append(found["text"] if found else line)
    return {name: " ".join(" ".join(texts).split()) for name, texts in described.items()}


def _arguments_section(docstring: str) -> str:
    _, found, rest = f"\n{docstring}\n".partition("\nArgs:\n")
    if not found:
        return ""
    lines = rest.split("\n")
    return textwrap.dedent("\n".join(takewhile(lambda line: line[:1] in {"", " "}, lines)))
