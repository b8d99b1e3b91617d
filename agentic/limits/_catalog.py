"""The two limits of a request, and the limits of current models, grouped by their source.

Sizes are in tokens, as the provider states them: if a page says `1M` or `128K`, that is 1,000,000
or 128,000. The window is the most that a request may contain. If a provider limits the input to
less than the window (gpt-5: 272,000 of 400,000), the lower limit counts. If pages disagree, the
smaller number is used. What requires a beta header is left out. An output of 0 means that the page
does not state it. Names are the provider's, without the date of a snapshot. A longer name with the
same numbers (gpt-5-codex) is covered by the shorter one.

A model is found by its name, as any provider spells it. Case does not matter, and `4.5` equals
`4-5`. A prefix ends at `/`, `:` or `.` (`openrouter/anthropic/`, `ft:`, `us.anthropic.`). A name
ends at the end of the text or before `-`, `@`, `:`, `/`, `_` or `.`. If a number of one or two
digits follows, it is another version: `gpt-4.5` is not `gpt-4`.

A model that the catalog lacks is looked up in the registry of `genai-prices` (extra `prices`), if
that is installed, by that library's own rules. The catalog always takes precedence: each of its
numbers has a source, and the registry is known to be wrong for some Claude models.
"""

import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from itertools import repeat
from types import MappingProxyType
from typing import Protocol

import attrs

from agentic._validate import is_whole
from agentic.errors import ConfigError

_VERSION_DOT = re.compile(r"(?<=\d)\.(?=\d)")
# OpenRouter's replies name some models like this: anthropic/claude-4.5-sonnet-20250929.
_VERSION_FIRST = re.compile(r"claude-([4-9]-\d)-([a-z]+)")
_PREFIX_END = re.compile(r"^|[/:.]")
_SERVERS_WITH_PREFIXES = ("aws", "openrouter")
"""These put the maker before the name: us.amazon.nova-pro-v1:0, moonshotai/kimi-k2."""
# -0 is the same version (claude-opus-4-0), -1: is Bedrock's revision (gpt-oss-120b-1:0), and four
# digits are a date (gpt-4-0613).
_NAME_END = re.compile(r"\Z|[@:/_.]|-(?![1-9]\d?(?![0-9a-z:]))")


def _tokens(_: object, attribute: "attrs.Attribute[int]", value: object) -> None:
    remedy = "write the number out, or take it from limits.lookup(model)"
    # With the record's name: a configuration may hold it far from where it is used.
    is_whole(0, value, f"ModelLimits.{attribute.name}", remedy)


@attrs.frozen
class ModelLimits:
    """The most tokens that a model accepts and returns.

    >>> ModelLimits(128_000, 16_384)
    ModelLimits(context_window=128000, max_output=16384, known=True)
    """

    context_window: int = attrs.field(validator=_tokens)
    """The most that a request may contain: the provider's limit on the input, if that is smaller
    than the window. 0 for no limit."""
    max_output: int = attrs.field(validator=_tokens)
    """The longest reply; 0 if unknown."""
    known: bool = True
    """False for the conservative default that is used for an unknown model."""


class Provider(Protocol):
    """The server of a model, which can report the model's limits."""

    def limits(self) -> ModelLimits:
        """Return the limits of the model in use."""
        ...


@attrs.frozen
class Source:
    """One page, and the limits that it states."""

    address: str
    """The address of the page."""
    models: Mapping[str, ModelLimits]
    read_on: date = date(2026, 11, 21)
    """The day on which the page, or a stored copy of it, was read."""


def lookup(model: str) -> ModelLimits:
    """Return a model's limits, from the longest name in the catalog that matches.

    If only the registry of `genai-prices` knows the model, `max_output` is not stated. If neither
    knows it, the window is 8,192 tokens and `known` is False.

    >>> lookup("openrouter/anthropic/claude-sonnet-4.5").context_window
    200000
    >>> lookup("ft:gpt-4o-mini-2024-07-18:acme::b7")
    ModelLimits(context_window=128000, max_output=16384, known=True)
    >>> lookup("my-model")
    ModelLimits(context_window=8192, max_output=0, known=False)

    Raises:
        ConfigError: the name is not a str.
    """
    if not isinstance(model, str):
        raise ConfigError(
            "model", model, "a str such as 'gpt-4o'", "pass the name that you send to the provider"
        )
    name = _longest_name(model, _KNOWN)
    return _registered(model) if name is None else _KNOWN[name]


def get_context_limit(model: str) -> int:
    """Return a model's context window, in tokens.

    >>> get_context_limit("gpt-4o")
    128000
    >>> get_context_limit("my-model")
    8192
    """
    return lookup(model).context_window


def _longest_name(model: str, names: Iterable[str]) -> str | None:
    """Return the longest of the names that matches the model; their order does not matter.

    >>> _longest_name("azure/gpt-4o-mini", ["gpt-4", "gpt-4o-mini", "gpt-4o"])
    'gpt-4o-mini'
    """
    text = _spell(model)
    tails = [text[end.end() :] for end in _PREFIX_END.finditer(text)]
    tails.append(text.replace(":", "-"))  # Ollama's tags: gpt-oss:20b
    # Each name is spelled once, not once for each tail: this runs for every reply.
    found = [name for name in names if any(map(_begins_with, tails, repeat(_spell(name))))]
    # Equal lengths are decided by the name, never by the order of the catalog.
    return max(found, key=lambda name: (len(name), name), default=None)


def _registered(model: str) -> ModelLimits:
    """Look a model up in the registry, which is imported only when it is needed."""
    if not model.strip():  # a decider without a name: the import alone takes a sixth of a second
        return _UNKNOWN
    # Asked anew each time, because the library may fetch newer prices while a program runs.
    try:
        snapshot = importlib.import_module("genai_prices.data_snapshot").get_snapshot()
    except ImportError:
        return _UNKNOWN
    for server, name in _spellings(model.strip().lower()):
        try:
            _, found = snapshot.find_provider_model(name, None, server, None)
        except LookupError:
            continue
        # Some of its models have a price and no window.
        if found.context_window:
            return ModelLimits(found.context_window, 0)
    return _UNKNOWN


def _spellings(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield (server, name) pairs to look up: a prefix may be a server, or part of the name.

    >>> list(_spellings("groq/qwen-3"))[-2:]
    [(None, 'qwen-3'), ('groq', 'qwen-3')]
    """
    yield None, text
    yield from ((server, text) for server in _SERVERS_WITH_PREFIXES)
    # From 1: at 0 there is only the whole text again.
    for end in _PREFIX_END.finditer(text, 1):
        yield None, text[end.end() :]
        yield _PREFIX_END.split(text[: end.start()])[-1], text[end.end() :]


def _begins_with(tail: str, name: str) -> bool:
    return tail.startswith(name) and _NAME_END.match(tail, len(name)) is not None


def _spell(name: str) -> str:
    return _VERSION_FIRST.sub(r"claude-\2-\1", _VERSION_DOT.sub("-", name.strip().lower()))


# supyagent also assumes 8,192 (https://github.com/ergodic-ai/supyagent). If the guess is too small,
# compaction comes early; if it is too large, the request fails.
_UNKNOWN = ModelLimits(8_192, 0, known=False)
SOURCES = (
    Source(
        "https://learn.microsoft.com/en-us/azure/foundry/foundry-models/concepts/models-sold-directly-by-azure",
        {
            "gpt-6.1-sol": ModelLimits(922_000, 128_000),
            "gpt-6-astra": ModelLimits(922_000, 128_000),
            "gpt-6-luna": ModelLimits(922_000, 128_000),
            "gpt-6-sol": ModelLimits(922_000, 128_000),
            "gpt-5.6": ModelLimits(922_000, 128_000),
            "gpt-5.5": ModelLimits(922_000, 128_000),
            "gpt-5.4": ModelLimits(922_000, 128_000),
            "gpt-5.4-mini": ModelLimits(272_000, 128_000),
            "gpt-5.4-nano": ModelLimits(272_000, 128_000),
            "gpt-5.3-codex": ModelLimits(272_000, 128_000),
            "gpt-5.3-chat": ModelLimits(111_616, 16_384),
            "gpt-5.2": ModelLimits(272_000, 128_000),
            "gpt-5.2-chat": ModelLimits(111_616, 16_384),
            "gpt-5.1": ModelLimits(272_000, 128_000),
            "gpt-5.1-chat": ModelLimits(111_616, 16_384),
            "gpt-5": ModelLimits(272_000, 128_000),
            "gpt-5-chat": ModelLimits(128_000, 16_384),
            "gpt-oss-120b": ModelLimits(131_072, 131_072),
            "gpt-oss-20b": ModelLimits(131_072, 131_072),
            "gpt-4.1": ModelLimits(1_047_576, 32_768),
            "gpt-4o": ModelLimits(128_000, 16_384),
            "gpt-4o-2024-05-13": ModelLimits(128_000, 4_096),
            "gpt-4o-mini": ModelLimits(128_000, 16_384),
            "gpt-4o-realtime-preview": ModelLimits(16_000, 4_096),
            "gpt-4-turbo": ModelLimits(128_000, 4_096),
            "o4-mini": ModelLimits(200_000, 100_000),
            "o3": ModelLimits(200_000, 100_000),
            "o3-mini": ModelLimits(200_000, 100_000),
            "o1": ModelLimits(200_000, 100_000),
            "o1-mini": ModelLimits(128_000, 65_536),
            "codex-mini": ModelLimits(200_000, 100_000),
            "deepseek-v4-flash": ModelLimits(1_000_000, 384_000),
            "deepseek-v4-pro": ModelLimits(1_000_000, 384_000),
            "deepseek-v3.2": ModelLimits(128_000, 128_000),
            "llama-4-maverick": ModelLimits(1_000_000, 1_000_000),
            "llama-3.3-70b": ModelLimits(128_000, 8_192),
            "mistral-medium-3-5": ModelLimits(128_000, 128_000),
            "grok-4.7": ModelLimits(500_000, 0),
            "grok-4.3": ModelLimits(200_000, 8_192),
            "grok-4-20": ModelLimits(262_000, 8_192),
            "grok-4.1-fast": ModelLimits(128_000, 128_000),
            "grok-code-fast-1": ModelLimits(256_000, 8_192),
        },
    ),
    Source(
        "https://github.com/openai/codex/blob/156676256ddf530c8ec729844f9b24008b748c7d/codex-rs/core/src/openai_model_info.rs",
        # The page says 16,385, but supyagent's table, whose values are all kept, says 16,384.
        {"gpt-3.5-turbo": ModelLimits(16_384, 4_096)},
    ),
    Source(
        "https://github.com/MicrosoftDocs/azure-ai-docs/pull/544/files",
        {"gpt-35-turbo": ModelLimits(16_385, 4_096)},
    ),
    Source(
        "https://rageagainstthepixel.github.io/OpenAI-DotNet/api/OpenAI.Models.Model.html",
        {"chatgpt-4o": ModelLimits(128_000, 16_384)},
    ),
    Source(
        "https://github.com/ergodic-ai/supyagent",
        {"gpt-4": ModelLimits(8_192, 0)},
    ),
    Source(
        "https://github.com/MicrosoftDocs/azure-ai-docs/blob/0cfe2de603f9e8e662ecaf73bbc69bda0b4b762a/articles/foundry/foundry-models/includes/concepts-claude-models-content.md",
        {
            "claude-fable-5-1": ModelLimits(1_000_000, 128_000),
            "claude-fable-5": ModelLimits(1_000_000, 128_000),
            "claude-opus-5-5": ModelLimits(1_000_000, 128_000),
            "claude-opus-5": ModelLimits(1_000_000, 128_000),
            "claude-opus-4-8": ModelLimits(1_000_000, 128_000),
            "claude-opus-4-7": ModelLimits(1_000_000, 128_000),
            "claude-opus-4-6": ModelLimits(1_000_000, 128_000),
            "claude-opus-4-5": ModelLimits(200_000, 64_000),
            "claude-sonnet-5-5": ModelLimits(1_000_000, 128_000),
            "claude-sonnet-5": ModelLimits(1_000_000, 128_000),
            "claude-sonnet-4-6": ModelLimits(1_000_000, 128_000),
            "claude-sonnet-4-5": ModelLimits(200_000, 64_000),
            "claude-haiku-5-5": ModelLimits(1_000_000, 128_000),
            "claude-haiku-4-5": ModelLimits(200_000, 64_000),
        },
    ),
    Source(
        # Other sources say 64,000 (Roo Code); the smaller number is used.
        "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/models.generated.ts",
        {"claude-opus-4-1": ModelLimits(200_000, 32_000)},
        date(2026, 11, 22),
    ),
    Source(
        "https://docs.aihubmix.com/en/api/Claude-Native",
        {
            "claude-opus-4": ModelLimits(200_000, 32_000),
            "claude-sonnet-4": ModelLimits(200_000, 64_000),
            "claude-3-7-sonnet": ModelLimits(200_000, 64_000),
            "claude-3-5-sonnet": ModelLimits(200_000, 8_192),
            "claude-3-5-haiku": ModelLimits(200_000, 8_192),
            "claude-3-opus": ModelLimits(200_000, 4_096),
            "claude-3-haiku": ModelLimits(200_000, 4_096),
        },
    ),
    Source(
        "https://docs.apiyi.com/en/live/2026-09/gemini-3-8-flash-official-specs.md",
        {"gemini-3.8-flash": ModelLimits(1_048_576, 65_536)},
    ),
    Source(
        "https://ai.google.dev/gemini-api/docs/models/gemini-3.1-pro-preview",
        {"gemini-3.1-pro": ModelLimits(1_048_576, 65_536)},
    ),
    Source(
        "https://ai.google.dev/gemini-api/docs/models/gemini-3-pro-preview",
        {"gemini-3-pro-preview": ModelLimits(1_048_576, 65_536)},
    ),
    Source(
        "https://docs.uipath.com/autopilot/other/latest/user-guide/supported-models-and-limits.md",
        {"gemini-2.5-flash": ModelLimits(1_048_576, 65_535)},
    ),
    Source(
        "https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/gemini/2-5-pro",
        {"gemini-2.5-pro": ModelLimits(1_048_576, 65_535)},
    ),
    Source(
        "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/models/gemini/2-5-flash-lite",
        {"gemini-2.5-flash-lite": ModelLimits(1_048_576, 65_535)},
    ),
    Source(
        "https://ai.google.dev/gemini-api/docs/models/gemini-2.0-flash",
        {"gemini-2.0-flash": ModelLimits(1_048_576, 8_192)},
    ),
    Source(
        "https://cloud.google.com/vertex-ai/docs/generative-ai/learn/models",
        {
            "gemini-1.5-flash": ModelLimits(1_000_000, 8_192),
            "gemini-1.5-pro": ModelLimits(1_000_000, 8_192),
        },
    ),
    Source(
        "https://api-docs.deepseek.com/quick_start/pricing-details-usd",
        {
            "deepseek-chat": ModelLimits(64_000, 8_000),
            "deepseek-reasoner": ModelLimits(64_000, 8_000),
        },
    ),
    Source(
        "https://huggingface.co/meta-llama/Llama-3.1-405B-Instruct/discussions/6",
        {"llama-3.1": ModelLimits(131_072, 0)},
    ),
    Source(
        "https://github.com/microsoft/generative-ai-for-beginners/blob/main/20-mistral/README.md",
        {"mistral-large": ModelLimits(128_000, 0)},
    ),
    Source(
        "https://docs.aws.amazon.com/bedrock/latest/userguide/model-card-mistral-ai-mistral-large.html",
        {"mistral-large-2402": ModelLimits(32_000, 4_000)},
    ),
    Source(
        "https://developers.llamaindex.ai/typescript/framework-api-reference/variables/all_available_mistral_models",
        {"mistral-small": ModelLimits(32_000, 0)},
    ),
    Source(
        "https://vercel.com/ai-gateway/models/qwen3-max",
        {"qwen3-max": ModelLimits(262_144, 65_536)},
    ),
    Source(
        "https://www.promptfoo.dev/docs/providers/alibaba",
        {"qwen-max": ModelLimits(30_720, 8_192)},
    ),
    Source(
        "https://www.openrouter.ai/x-ai/grok-4",
        {"grok-4": ModelLimits(256_000, 0)},
    ),
    Source(
        "https://docs.aws.amazon.com/bedrock/latest/userguide/model-card-amazon-nova-premier.html",
        {"nova-premier": ModelLimits(1_000_000, 25_000)},
    ),
    Source(
        "https://docs.aws.eu/bedrock/latest/userguide/model-card-amazon-nova-lite.html",
        {"nova-lite": ModelLimits(300_000, 5_000)},
    ),
    Source(
        "https://docs.rs/crate/mixtape-core/latest/source/src/models/nova.rs",
        {
            "nova-pro": ModelLimits(300_000, 5_000),
            "nova-micro": ModelLimits(128_000, 5_000),
        },
    ),
)
_KNOWN = {name: limits for source in SOURCES for name, limits in source.models.items()}

CONTEXT_LIMITS: Mapping[str, int] = MappingProxyType(
    {name: limits.context_window for name, limits in _KNOWN.items()}
    | {"default": _UNKNOWN.context_window}
)
"""Maps every model that `lookup` knows to its context window; `default` is the window of all other
models. Read-only."""
