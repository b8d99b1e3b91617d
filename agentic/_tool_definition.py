"""What is known about a tool: what the model is told, who may call it, whether it may run twice."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from agentic._lazy import hashlib
from agentic._validate import all_are, must_be
from agentic.errors import ConfigError

DIRECT = "direct"
"""The model itself, in its reply: the name that Anthropic and OpenAI both use for this caller.

https://platform.claude.com/docs/en/agents-and-tools/tool-use/programmatic-tool-calling and
https://openai.github.io/openai-agents-js/openai/agents/type-aliases/toolallowedcaller (2026-11).
"""

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""The most permissive rule, https://modelcontextprotocol.io/specification/2025-11-25/server/tools
(2026-11).

Providers are stricter: Anthropic allows no dot, OpenAI no dot and at most 64 characters.
"""
_WITHHOLD = "to withhold a tool from everybody, do not register it"


def _no_parameters() -> dict[str, Any]:
    # With properties, which OpenAI demands: see `tool_parameters` of the providers.
    return {"type": "object", "properties": {}}


def _callers(callers: Iterable[str]) -> tuple[str, ...]:
    # `tuple` would split a str into its letters.
    given = (callers,) if isinstance(callers, str) else callers
    return all_are(str, given, "ToolDefinition.allowed_callers", _WITHHOLD)


@attrs.frozen
class ToolDefinition:
    """A tool as it is described to the model.

    >>> ToolDefinition("now", "Tell the time.").parameters
    {'type': 'object', 'properties': {}}

    Raises:
        ConfigError: no provider accepts the name, the parameters are not a JSON Schema of an
            object, there are no callers, or `retry` is neither `always` nor `never`.
    """

    name: str = attrs.field()
    description: str = attrs.field(default="", validator=must_be(str))
    # Not part of the hash, because a dict has none; equal definitions still have equal hashes.
    parameters: Mapping[str, Any] = attrs.field(factory=_no_parameters, hash=False)
    """The arguments, as a JSON Schema of type object. Treat it as read-only."""
    allowed_callers: tuple[str, ...] = attrs.field(
        default=(DIRECT,), kw_only=True, converter=_callers
    )
    """Who may call it: `direct` is the model itself; any other name is one of the host's
    callers."""

    annotations: Mapping[str, Any] = attrs.field(
        factory=dict, kw_only=True, hash=False, validator=must_be(Mapping)
    )
    """What the tool's author says about its effects, for policies and never sent to a model: by the
    names of MCP, `readOnlyHint`, `destructiveHint`, `idempotentHint`, `openWorldHint` and `title`.
    A claim, not a guarantee: rely on it only if you trust the author.
    https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations (2026-11)"""

    retry: str = attrs.field(default="always", kw_only=True)
    """What a durable run does with a call whose result was lost when its process died. `always`
    makes the call again. `never` does not: the model reads that the outcome is unknown."""

    @name.validator
    def _check_name(self, _: object, name: object) -> None:
        # Not `match` with `$`, which would accept a line feed after the name.
        if not (isinstance(name, str) and _NAME.fullmatch(name)):
            raise ConfigError(
                "ToolDefinition.name",
                name,
                "1 to 128 of the characters A-Z a-z 0-9 _ . -",
            )

    @parameters.validator
    def _check_parameters(self, _: object, parameters: object) -> None:
        if not (isinstance(parameters, Mapping) and parameters.get("type") == "object"):
            raise ConfigError(
                "ToolDefinition.parameters",
                parameters,
                'a JSON Schema with "type": "object"',
                "wrap a single value into an object with one property",
            )
        try:
            _canonical(parameters)
        # A server may send any schema; one that is nested too deeply is a RecursionError.
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigError(
                "ToolDefinition.parameters",
                parameters,
                "JSON data",
                f"{error}",
            ) from error

    @allowed_callers.validator
    def _check_callers(self, _: object, callers: tuple[str, ...]) -> None:
        if not callers or not all(callers):
            raise ConfigError(
                "ToolDefinition.allowed_callers",
                callers,
                f"one caller or more, such as {DIRECT!r} for the model itself",
                _WITHHOLD,
            )

    @retry.validator
    def _check_retry(self, _: object, retry: object) -> None:
        if retry not in ("always", "never"):
            remedy = "write never for a tool that must not act twice"
            raise ConfigError("ToolDefinition.retry", retry, "always or never", remedy)

    @property
    def schema_hash(self) -> str:
        """The SHA-256, in hex, of the name and the parameters that a call was written for.

        Neither the order of keys nor the wording of the tool's description affects it.

        >>> told, untold = ToolDefinition("now", "Tell the time."), ToolDefinition("now")
        >>> told.schema_hash == untold.schema_hash
        True
        """
        canonical = _canonical({"name": self.name, "parameters": self.parameters})
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _canonical(value: object) -> str:
    # Without NaN, which is no JSON, and without spaces: every process has the same hash.
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_as_dict
    )


def _as_dict(value: object) -> dict[str, Any]:
    # The json module writes no Mapping but dict, and a shared schema may be a MappingProxyType.
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"JSON cannot represent {type(value).__name__}")
