"""A request as a model server reads it, whatever the wire: blocks in order, and what they are.

A wire reads a body into a `ReadRequest`; the rules on reasoning, pairing, roles and the cache see
nothing else. Sizes are in tokens, by a counter of the server's own: 4 characters a token.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import attrs

__all__ = [
    "Block",
    "Kind",
    "ModelReply",
    "ReadRequest",
    "Refusal",
    "ReplyCall",
    "ScriptedAnswer",
    "canonical",
    "size_of",
]

Kind: TypeAlias = Literal["text", "call", "result", "reasoning", "compaction", "other"]

_CHARS_PER_TOKEN = 4
_MEDIA_TOKENS = 1_500
"""What an image or a document counts, whatever its bytes."""
_NOT_READ = {"cache_control", "cachePoint", "prompt_cache_breakpoint"}
"""Marks for the cache: no part of what a model reads."""


def size_of(text: str) -> int:
    """Return the tokens of a text.

    >>> size_of(""), size_of("12345")
    (0, 2)
    """
    return -(-len(text) // _CHARS_PER_TOKEN)


def canonical(value: Any) -> str:
    """Return a JSON text that is the same whatever the order of keys, nulls and cache marks.

    >>> canonical({"text": "a", "cache_control": {"type": "ephemeral"}, "citations": None})
    '{"text":"a"}'
    """
    return json.dumps(_stripped(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _stripped(value: Any) -> Any:
    if isinstance(value, Mapping):
        fields = {k: v for k, v in value.items() if v is not None and k not in _NOT_READ}
        return {key: _stripped(item) for key, item in fields.items()}
    return [_stripped(item) for item in value] if isinstance(value, list) else value


@attrs.frozen(kw_only=True)
class Block:
    """One piece of a request's content, in the order in which the model reads it."""

    role: str
    """`tools`, `system`, `user` or `assistant`; a tool's result is the user's on every wire."""
    kind: Kind
    text: str
    """What it says, in a form that is equal exactly if the provider reads the same."""
    path: str
    """Where it stands in the body: `messages.1.content.0`."""
    message: int = 0
    """The position of its message, which is what some errors name."""
    id: str = ""
    """The id by which a call and its result belong together."""
    tied: bool = True
    """Whether a call names the reply that it came from, and so the reasoning before it."""
    proof: str = ""
    """Of reasoning: the signature, or whatever the server handed out to recognize it by."""
    mark_seconds: float | None = None
    """The lifetime of a cache mark behind it; None without a mark."""
    bound: bool = True
    """Whether it counts as a part of what precedes reasoning."""
    words: str = ""
    """The bare text of a block of text or reasoning."""
    tokens: int = 0

    @classmethod
    def of(cls, value: Any, **fields: Any) -> "Block":
        """Return a block with its canonical text and its size."""
        text = canonical(value)
        media = isinstance(value, Mapping) and "image" in str(value.get("type", ""))
        return cls(text=text, tokens=_MEDIA_TOKENS if media else size_of(text), **fields)


@attrs.frozen(kw_only=True)
class ReadRequest:
    """A request that a wire understood."""

    model: str
    blocks: tuple[Block, ...]
    """Tools, the system prompt and all content, in the order in which the model reads them."""
    tool_names: tuple[str, ...] = ()
    stream: bool = False
    thinks: bool = True
    """Whether the reply has reasoning."""
    on_mismatch: Literal["error", "drop_block"] | None = None
    """What the request asks to do with reasoning that is no longer valid; None if it is silent."""
    controls: bool = False
    """Whether the request may say `on_mismatch`."""
    compacts: bool = False
    """Whether it asks for a summary on the server, and for nothing else."""
    settings: str = ""
    """The settings whose change makes the messages miss the cache."""

    @property
    def reasoning(self) -> tuple[Block, ...]:
        """Return the blocks of reasoning that it sends back."""
        return tuple(block for block in self.blocks if block.kind == "reasoning")


@attrs.frozen
class Refusal(Exception):
    """Why a request is refused, in the provider's words."""

    reason: str
    """`binding`, `signature`, `control`, `loop`, `pairing`, `roles`, `empty`, `cache`, `overflow`,
    `malformed`, or `scripted`."""
    message: str
    code: str = ""
    """The provider's code of the error, where it has one."""
    status: int = 400


@attrs.frozen
class ReplyCall:
    """A call in a reply; `arguments` as JSON data."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class ScriptedAnswer:
    """What a script lets the model say: reasoning before text before calls.

    `calls` are the arguments of calls, for the tool named `tool` or the first that is declared.
    """

    text: str = ""
    calls: tuple[Mapping[str, Any], ...] = ()
    tool: str | None = None
    thinking: str = ""
    """The visible text of its reasoning, which newer models leave empty."""
    thinking_tokens: int = 0
    """The size of its reasoning, which the visible text does not show; 0 for no reasoning."""
    truncated: bool = False
    """Whether it was cut off at the limit of tokens."""
    status: int = 200
    """Any other is the HTTP status with which the request is refused, for which `text` says why."""


@attrs.frozen(kw_only=True)
class ModelReply:
    """A reply as the server makes it, before a wire writes it."""

    id: str
    model: str
    text: str
    calls: tuple[ReplyCall, ...]
    thinking: str
    proof: str
    """The signature of its reasoning; empty for none."""
    read: int
    """Tokens read from the cache."""
    written: int
    """Tokens written to the cache."""
    uncached: int
    output: int
    thinking_tokens: int
    is_compaction: bool = False
    """Whether the text is a summary that the next request sends back in place of this one."""
    truncated: bool = False
    """Whether it was cut off at the limit of tokens."""
    transformations: tuple[Mapping[str, Any], ...] = ()
    """What the server did to the reasoning that was sent back."""
