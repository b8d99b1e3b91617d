"""Shows the doctests of a docstring as code, whose prompts Markdown would read as quotations."""

import re
from typing import Any

from griffe import Extension, Object

__all__ = ["FencedDoctests"]

_DOCTEST = re.compile(r"^>>> .*(?:\n\S.*)*", re.MULTILINE)
"""A prompt, and the lines up to the next empty one. What is indented is code already."""


class FencedDoctests(Extension):
    """Fences every doctest before the docstring is parsed."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring in place."""
        if obj.docstring and "```pycon" not in obj.docstring.value:  # which has another name, too
            obj.docstring.value = _DOCTEST.sub(_fenced, obj.docstring.value)


def _fenced(doctest: re.Match[str]) -> str:
    return f"```pycon\n{doctest[0]}\n```"
