"""The names of models: from what a provider, a router or a user writes to a name in the catalog.

Case does not matter, and `4.5` equals `4-5`. A prefix ends at `/`, `:` or `.` (`openrouter/acme/`,
`ft:`, `us.anthropic.`). A name ends at the end of the text or before `-`, `@`, `:`, `/`, `_` or
`.`. If a number of one or two digits follows, it is another version: `gpt-4.5` is not `gpt-4`.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from agentic.errors import ConfigError

PREFIX_END = re.compile(r"^|[/:.]")
"""Matches where the name of a model may begin."""
# Fireworks writes p: accounts/fireworks/models/glm-5p2.
_VERSION_DOT = re.compile(r"(?<=\d)[.p](?=\d)")
# OpenRouter's replies name some models like this: anthropic/claude-4.5-sonnet-20250929.
_VERSION_FIRST = re.compile(r"claude-([4-9]-\d)-([a-z]+)")
# -0 is the same version (claude-opus-4-0), -1:0 is Bedrock's revision (gpt-oss-120b-1:0), and four
# digits are a date (gpt-4-0613). In qwen3.9:free and qwen3.9:27b, the 9 is a version.
_NAME_END = re.compile(r"\Z|[@:/_.]|-(?![1-9]\d?(?![0-9a-z]|:\d(?![0-9a-z])))")
# Databricks, Azure (for Fireworks) and others join what they add by a dash: databricks-gpt-5-4.
_DASHED_PREFIX = re.compile(r"(?:databricks|fw|zai|openai|anthropic|alibaba)-")
_BEDROCK = re.compile(r"(?:^|/)(?:[a-z]+(?:-gov)?[.])?[a-z0-9]+[.][a-z]")
# After the name of a family: -6, 4-max, -v5-pro, -5-1. One digit before the dot, because Azure
# writes gpt-35 for 3.5.
_VERSION = re.compile(r"-?v?(\d)(?:-(\d{1,2}))?(?![0-9a-z])")
_LATEST = re.compile(r"(?:-[a-z]+)*-latest\b")


def check_name(model: object) -> None:
    """Raise unless the name of a model is a text.

    >>> check_name("gpt-4o")

    Raises:
        ConfigError: it is anything else.
    """
    if not isinstance(model, str):
        raise ConfigError(
            "model", model, "a str such as 'gpt-4o'", "pass the name that you send to the provider"
        )


def longest_name(model: str, names: Iterable[str]) -> str | None:
    """Return the longest of the names that matches the model; their order does not matter.

    >>> longest_name("azure/gpt-4o-mini", ["gpt-4", "gpt-4o-mini", "gpt-4o"])
    'gpt-4o-mini'
    """
    by_spelling = {_spell(name): name for name in names}
    matches = [
        by_spelling[tail[:end]]
        for tail in _tails(model)
        for end in range(1, len(tail) + 1)
        if tail[:end] in by_spelling and _NAME_END.match(tail, end)
    ]
    # Equal lengths are decided by the name, never by the order of the catalog.
    return max(matches, key=lambda name: (len(name), name), default=None)


def longest_beginning(model: str, beginnings: Iterable[str]) -> str | None:
    """Return the longest of these that the model's name begins with, without its prefix.

    Unlike `longest_name`, it does not tell one version from the next.

    >>> longest_beginning("azure/GPT-4o-mini", ["gpt-4", "gpt-4o"])
    'gpt-4o'
    >>> longest_beginning("o100", ["o1"]) is None
    True
    """
    text = model.strip().lower()
    tails = [text[end.end() :] for end in PREFIX_END.finditer(text)]
    matches = [each for each in beginnings if any(_begins(tail, each) for tail in tails)]
    return max(matches, key=len, default=None)


def newest_relative(model: str, newest: Mapping[str, str]) -> str | None:
    """Return the newest model of the family that the model belongs to, if the model is newer.

    `newest` maps what the names of a family begin with to the newest of them. A model without a
    version, or of an older one, may be anything: it has no relative here.

    >>> families = {"claude-opus": "claude-opus-5-5"}
    >>> newest_relative("anthropic/claude-opus-6-20270101", families)
    'claude-opus-5-5'
    >>> newest_relative("claude-opus-latest", families)
    'claude-opus-5-5'
    >>> newest_relative("claude-opus-4-99", families) is None
    True
    """
    tails = _tails(model)
    matches = [
        beginning
        for beginning, name in newest.items()
        if any(_version(tail, beginning) >= _version(_spell(name), beginning) for tail in tails)
    ]
    return newest[max(matches, key=len)] if matches else None


def prefixes(model: str) -> list[str]:
    """Return what stands before the name of a model, each part of which may be a server.

    >>> prefixes("fireworks_ai/accounts/fireworks/models/glm-5p2")
    ['fireworks-ai', 'accounts', 'fireworks', 'models']

    Only Bedrock has a dot behind the maker:

    >>> prefixes("us.anthropic.claude-opus-4-8")
    ['us', 'anthropic', 'bedrock']
    """
    text = model.strip().lower().replace("_", "-")
    parts = [part.removeprefix("huggingface-") for part in PREFIX_END.split(text)[1:-1]]
    return [*parts, "bedrock"] if _BEDROCK.search(text) else parts


def _version(tail: str, beginning: str) -> tuple[int, int]:
    """Return the version behind a beginning; (-1, 0) if there is none, (10, 0) for the latest."""
    if not tail.startswith(beginning):
        return (-1, 0)
    if _LATEST.match(tail, len(beginning)):
        return (10, 0)
    match = _VERSION.match(tail, len(beginning))
    return (int(match[1]), int(match[2] or 0)) if match else (-1, 0)


def _tails(model: str) -> list[str]:
    text = _spell(model)
    tails = [text[end.end() :] for end in PREFIX_END.finditer(text)]
    tails += [tail[prefix.end() :] for tail in tails if (prefix := _DASHED_PREFIX.match(tail))]
    return [*tails, text.replace(":", "-")]  # Ollama's tags: gpt-oss:20b


@lru_cache(2_048)  # more than the catalog has: each reply is looked up by its model
def _spell(name: str) -> str:
    return _VERSION_FIRST.sub(r"claude-\2-\1", _VERSION_DOT.sub("-", name.strip().lower()))


def _begins(tail: str, name: str) -> bool:
    return tail.startswith(name) and not tail[len(name) : len(name) + 1].isalnum()
