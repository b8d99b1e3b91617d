"""What the wire takes as an id, a name, arguments and a text, and how others are rewritten.

Rewriting is deterministic, so that the same history is the same request and the cache holds.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

import attrs

__all__ = [
    "MAX_ID_CHARS",
    "NAME_PATTERN",
    "Ids",
    "is_object",
    "sendable",
    "spell_arguments",
    "spell_name",
]

# "Invalid 'input[95].call_id': string too long. Expected a string with maximum length 64":
# https://github.com/AnswerDotAI/fastllm/issues/45. Its characters are free, it may not be empty:
# https://github.com/orchidfiles/ungate/pull/41, https://github.com/earendil-works/pi/issues/2917
MAX_ID_CHARS = 64

# OpenAI documents 64 letters, digits, _ and - for the name of a function:
# https://github.com/langchain-ai/deepagents/pull/5953
NAME_PATTERN = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")


@attrs.define
class Ids:
    """The ids that a request uses already, those of items and of calls alike."""

    used: set[str] = attrs.field(factory=set)

    def free(self, ids: Iterable[str]) -> bool:
        """Tell whether all these are unused and different; if so, they are used from now on."""
        asked = list(ids)
        if len(set(asked)) < len(asked) or self.used & set(asked):
            return False
        self.used.update(asked)
        return True

    def take(self, wanted: str) -> str:
        """Give an id that the wire accepts: the wanted one, or one that is made from it.

        >>> ids = Ids()
        >>> ids.take("c1"), ids.take("c1") == "c1"
        ('c1', False)
        """
        fresh, attempt = wanted, 0
        while not 0 < len(fresh) <= MAX_ID_CHARS or fresh in self.used:
            attempt += 1
            fresh = f"call_{_digest(f'{wanted}#{attempt}')}"
        self.used.add(fresh)
        return fresh


def spell_name(name: str) -> str:
    """Give the name that the wire accepts for a tool: its own one where that will do.

    >>> spell_name("read"), spell_name("files.read").startswith("files_read_")
    ('read', True)
    """
    if NAME_PATTERN.fullmatch(name):
        return name
    return f"{_REFUSED.sub('_', name)[:50]}_{_digest(name)[:8]}"


def spell_arguments(arguments: str) -> str:
    """Give arguments that are a JSON object; any other text stands under a key.

    A call of OpenAI's may hold any text, but vLLM and llama.cpp refuse the whole history for one
    that is no JSON: https://github.com/local-inference-lab/vllm/issues/684,
    https://github.com/am17an/llama.cpp/issues/43.

    >>> spell_arguments('{"path": "a.py"}'), spell_arguments("{oops"), spell_arguments("")
    ('{"path": "a.py"}', '{"arguments": "{oops"}', '{}')
    """
    if not arguments.strip():
        return "{}"
    if is_object(arguments):
        return arguments
    return json.dumps({"arguments": sendable(arguments)}, ensure_ascii=False)


def is_object(arguments: str) -> bool:
    """Tell whether a text is a JSON object."""
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def sendable(data: Any) -> Any:
    r"""Give data that can be encoded as UTF-8; a lone surrogate becomes U+FFFD.

    What needs no change is given back as it is.

    >>> sendable(["cut in two: \ud83d"]) == ["cut in two: \ufffd"]
    True
    """
    if isinstance(data, str):
        return data if data.isascii() else _without_lone_surrogates(data)
    if isinstance(data, list):
        values = [sendable(value) for value in data]
        return data if all(map(_same, values, data)) else values
    if isinstance(data, dict):
        values = [sendable(value) for value in data.values()]
        same = all(map(_same, values, data.values()))
        return data if same else dict(zip(data, values, strict=True))
    return data


def _same(new: Any, old: Any) -> bool:
    return new is old


def _without_lone_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
