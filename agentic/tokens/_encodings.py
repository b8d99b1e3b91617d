"""Which vocabulary a model of OpenAI's has, or one that is counted as if it had it.

The names are tiktoken's (https://github.com/openai/tiktoken/blob/main/tiktoken/model.py, read with
0.14), `claude` and the default those of supyagent (https://github.com/ergodic-ai/supyagent).
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from agentic.errors import ConfigError

__all__ = ["MODEL_ENCODINGS", "get_encoding", "longest_name"]

MODEL_ENCODINGS: Mapping[str, str] = MappingProxyType(
    {
        "o1": "o200k_base",
        "o3": "o200k_base",
        "o4-mini": "o200k_base",
        "gpt-5": "o200k_base",
        "gpt-4.5": "o200k_base",
        "gpt-4.1": "o200k_base",
        "gpt-4o": "o200k_base",
        "chatgpt-4o": "o200k_base",
        "gpt-oss": "o200k_harmony",
        "gpt-4": "cl100k_base",
        "gpt-3.5": "cl100k_base",
        "gpt-35": "cl100k_base",
        "davinci-002": "cl100k_base",
        "babbage-002": "cl100k_base",
        "text-embedding-ada-002": "cl100k_base",
        "text-embedding-3-small": "cl100k_base",
        "text-embedding-3-large": "cl100k_base",
        "claude": "cl100k_base",
        "default": "cl100k_base",
    }
)
"""The start of a model's name, to its encoding; `default` is for all others. Claude's vocabulary is
not public: its entry is a stand-in, and `for_model` knows better. Read-only."""

_PREFIX_END = re.compile(r"^|[/:.]")


def get_encoding(model: str) -> str:
    """Return the name of a model's encoding, by the longest name that the model's begins with.

    >>> get_encoding("openrouter/openai/gpt-4.1-mini")
    'o200k_base'
    >>> get_encoding("gpt-4-turbo")
    'cl100k_base'
    >>> get_encoding("my-model")
    'cl100k_base'
    """
    return MODEL_ENCODINGS[longest_name(model, MODEL_ENCODINGS) or "default"]


def longest_name(model: str, names: Iterable[str]) -> str | None:
    """Pick the longest of some names that a model's begins with, its provider's prefix aside.

    >>> longest_name("azure/GPT-4o-mini", ["gpt-4", "gpt-4o"])
    'gpt-4o'
    >>> longest_name("o100", ["o1"]) is None
    True
    """
    if not isinstance(model, str):
        remedy = "pass the name that you send to the provider"
        raise ConfigError("model", model, "a str such as 'gpt-4o'", remedy)
    text = model.strip().lower()
    tails = [text[end.end() :] for end in _PREFIX_END.finditer(text)]
    found = [name for name in names if any(_begins(tail, name) for tail in tails)]
    return max(found, key=len, default=None)


def _begins(tail: str, name: str) -> bool:
    return tail.startswith(name) and not tail[len(name) : len(name) + 1].isalnum()
