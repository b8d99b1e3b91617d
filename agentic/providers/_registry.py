"""The adapters by name: those of this package, and those that a program registers.

An adapter of this package is imported when it is asked for.

What tells the wires of this package from each other is here as well. A decoder reads what it knows.
The calls and results of another wire are not among it: they would be read as an empty message, sent
as they are, and counted as nothing. Only roles, calls, results and reasoning are looked at. Texts
and media are read alike by several wires, and a field that nobody knows may be a newer one.
"""

import importlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agentic._base._lazy import LazyModule
from agentic._base._validate import nearest, suggest
from agentic.errors import ConfigError

if TYPE_CHECKING:
    from agentic.providers import kit
    from agentic.providers.kit import Adapter
else:
    kit = LazyModule("agentic.providers.kit")  # the names of adapters need none of it

BUILT_IN = (
    "anthropic",
    "openai_chat",
    "openai_responses",
    "gemini",
    "bedrock",
    "cohere",
    "ollama",
)
"""The adapters of this package, those that most programs speak first; each is a subpackage with an
`ADAPTER`."""
BEGINNINGS = {
    "anthropic": ("claude-",),
    "gemini": ("gemini-",),
    "openai_chat": ("gpt-", "o1", "o3", "o4"),
}
"""How the names of the models begin that a provider makes and serves itself."""
ELSEWHERE = ("gpt-oss", "gpt-35", "gpt-4o-realtime")
"""The beginnings of names that begin so and are not served by it: open weights
(https://help.openai.com/en/articles/11870455-openai-open-weight-models-gpt-oss, 2026-11), Azure's
spelling of gpt-3.5, and a model of another API."""
_registered: "dict[str, Adapter]" = {}
_ALL = frozenset(BUILT_IN)
_TEXTS = _ALL - {"gemini"}
_CHATS = frozenset({"cohere", "ollama", "openai_chat"})
_SPEAKERS = ("user", "assistant", "system")
_TEXT_FIELDS = {"role", "content"}
WITHOUT_ROLE = frozenset({"gemini", "openai_responses"})
_ANTHROPIC_BLOCKS = {"tool_use", "tool_result", "redacted_thinking", "server_tool_use"}
_BEDROCK_BLOCKS = {"toolUse", "toolResult", "reasoningContent"}
_GEMINI_PARTS = {"functionCall", "function_call", "functionResponse", "function_response"}
_PART_FIELDS = _GEMINI_PARTS | {"text", "inlineData", "inline_data", "fileData", "file_data"}


def register(adapter: "Adapter") -> "Adapter":
    """Make an adapter known by its name: to `connect`, agents from YAML, replay and traces.

    One of the same name that was registered before is replaced. Returns the adapter.

    Raises:
        ConfigError: it is not an Adapter, or has the name of an adapter of this package.
    """
    if not isinstance(adapter, kit.Adapter):
        raise ConfigError("adapter", adapter, "a providers.kit.Adapter", "fill one in")
    if adapter.name in BUILT_IN:
        remedy = "give it a different name"
        raise ConfigError("adapter", adapter.name, f"none of {', '.join(sorted(BUILT_IN))}", remedy)
    _registered[adapter.name] = adapter
    return adapter


def adapter_names() -> tuple[str, ...]:
    """Return the names of all adapters; none is imported.

    >>> adapter_names()[:3]
    ('anthropic', 'openai_chat', 'openai_responses')
    """
    return (*BUILT_IN, *_registered)


def sorted_names() -> list[str]:
    """Return the names of all adapters as an error lists them: those of this package come first."""
    return [*sorted(BUILT_IN), *sorted(_registered)]


def full_name(model: str) -> str:
    """Return PROVIDER:NAME for a model whose name alone says who serves it; else the name itself.

    >>> full_name("gpt-4.1"), full_name("claude-opus-5"), full_name("ollama:qwen3")
    ('openai_chat:gpt-4.1', 'anthropic:claude-opus-5', 'ollama:qwen3')
    >>> full_name("qwen3"), full_name("gpt-oss-20b")
    ('qwen3', 'gpt-oss-20b')
    """
    if ":" not in model and not model.startswith(ELSEWHERE):
        for provider, beginnings in BEGINNINGS.items():
            if model.startswith(beginnings):
                return f"{provider}:{model}"
    return model


def nearest_model(name: str) -> str:
    """Return the most similar name that is enough alone, for one that is no model's; else "".

    >>> nearest_model("gtp-4.1"), nearest_model("qwen3"), nearest_model("gpt-oss-20b")
    ('gpt-4.1', '', '')
    """
    # Loaded here: few names are wrong, and the catalog is large.
    from agentic.limits import CONTEXT_LIMITS, lookup  # noqa: PLC0415

    if not name[:1].isalpha() or ":" in name or lookup(name).usable:
        return ""
    return nearest(name, [each for each in CONTEXT_LIMITS if full_name(each) != each])


def find_adapter(name: str) -> "Adapter":
    """Return the adapter of a provider, which is imported if necessary.

    >>> find_adapter("openai_chat").trace_name
    'openai'

    Raises:
        ConfigError: there is none of that name.
    """
    if name in _registered:
        return _registered[name]
    if name not in BUILT_IN:
        names = adapter_names()
        names_text = f"one of {', '.join(names)}"
        raise ConfigError("provider", name, names_text, suggest(name, names, "register it"))
    adapter: Adapter = importlib.import_module(f"agentic.providers.{name}").ADAPTER
    return adapter


def as_adapter(wire: object) -> "Adapter":
    """Return the adapter that is passed as itself, or as the module that has it as `ADAPTER`.

    >>> from agentic.providers import gemini
    >>> as_adapter(gemini) is as_adapter(gemini.ADAPTER)
    True

    Raises:
        ConfigError: it is neither.
    """
    adapter = getattr(wire, "ADAPTER", wire)
    if isinstance(adapter, kit.Adapter):
        return adapter
    names = sorted_names()
    remedy = suggest(wire, names, "import it from providers")
    if wire in names:
        # The name is right, and the module is what is wanted.
        remedy = f"pass the module: from agentic.providers import {wire}"
    raise ConfigError("wire", wire, f"an adapter: {', '.join(names)}", remedy)


def wires_of(item: Mapping[str, Any]) -> frozenset[str]:
    """Return the adapters of this package whose wire has the form of an item, if any.

    >>> sorted(wires_of({"role": "model", "parts": [{"text": "So."}]}))
    ['gemini']
    >>> sorted(wires_of({"role": "tool", "tool_call_id": "c1", "content": "x = 1"}))
    ['cohere', 'openai_chat']
    """
    role = item.get("role")
    # Most items are a text and nothing else.
    if role in _SPEAKERS and item.keys() == _TEXT_FIELDS and isinstance(item["content"], str):
        return _TEXTS
    # First, because a content of Gemini's may have no role, and another key besides.
    if "parts" in item or role == "model" or (not _GEMINI_PARTS.isdisjoint(item) and role is None):
        return frozenset({"gemini"})
    if role is None:
        return _without_role(item)
    wires = _of_calls(item, str(role))
    if blocks := _items(item, "content"):
        wires &= _of_blocks(blocks)
    return wires - {"gemini"} if "content" in item or wires != _ALL else wires


def _items(item: Mapping[str, Any], key: str) -> list[Any]:
    # As `kit.items_at`, without loading the kit: this is asked of each new item.
    value = item.get(key)
    return value if isinstance(value, list) else []


def _without_role(item: Mapping[str, Any]) -> frozenset[str]:
    # An item of Responses has a type, and a reference to one an id alone.
    if (item.get("type") and "data" not in item) or set(item) == {"id"}:
        return frozenset({"openai_responses"})
    return frozenset() if _PART_FIELDS.isdisjoint(item) else frozenset({"gemini"})


def _of_calls(item: Mapping[str, Any], role: str) -> frozenset[str]:
    """Return the wires whose messages have the calls or the result beside the content."""
    calls = _items(item, "tool_calls")
    is_older = not calls and "function_call" in item
    if role == "function" or (is_older and isinstance(item["function_call"], Mapping)):
        return frozenset({"openai_chat"})
    if item.get("tool_plan"):
        return frozenset({"cohere"})
    if role == "tool":
        return _of_result(item)
    if not calls:
        return _ALL
    wires = _CHATS
    for call in calls:
        wires &= _of_call(call)
    return wires


def _of_result(item: Mapping[str, Any]) -> frozenset[str]:
    if "tool_name" in item or "tool_call_id" not in item:
        return frozenset({"ollama"})
    documents = any(kit.at(block, "document") for block in _items(item, "content"))
    return frozenset({"cohere"}) if documents else frozenset({"cohere", "openai_chat"})


def _of_call(call: Any) -> frozenset[str]:
    function = kit.at(call, "function")
    if not isinstance(function, Mapping):
        return frozenset({"openai_chat"} if isinstance(kit.at(call, "custom"), Mapping) else ())
    arguments = function.get("arguments")
    if not arguments or (isinstance(arguments, str) and not arguments.strip()):
        return _CHATS
    if not isinstance(arguments, Mapping):
        return frozenset({"cohere", "openai_chat"})
    # Some servers of Chat Completions send an object, with an id; Ollama's older ones send no id.
    return frozenset({"ollama", "openai_chat"} if kit.text_at(call, "id") else {"ollama"})


def _of_blocks(blocks: Iterable[Any]) -> frozenset[str]:
    """Return the wires that have the calls, results and reasoning among the blocks of a content."""
    wires = _ALL
    for block in blocks:
        if not isinstance(block, Mapping):
            continue
        kind = block.get("type")
        is_signed = kind == "thinking" and isinstance(block.get("thinking"), str)
        if kind in _ANTHROPIC_BLOCKS or (is_signed and "signature" in block):
            wires &= {"anthropic"}
        elif not _BEDROCK_BLOCKS.isdisjoint(block) and kind is None:
            wires &= {"bedrock"}
    return wires
