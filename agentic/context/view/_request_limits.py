"""The limits on the bytes and images of a request: the policy's, the model's, or a refusal's."""

import json
from collections.abc import Sequence
from typing import Any, Literal

import attrs

from agentic.context import strategies
from agentic.context.budget import Policy
from agentic.context.view._window import Note
from agentic.limits._lookup import wire_limits
from agentic.messages import Message
from agentic.protocols import ToolDefinition

_AFTER_REFUSAL = 0.75
"""The limit that is assumed, as a share of a request that was refused without one."""
WireUnit = Literal["bytes", "images"]
Unit = Literal["tokens", "bytes", "images"]


@attrs.define(eq=False)
class RequestLimits:
    """Keeps the requests of one conversation within what a provider takes on the wire."""

    fit: "strategies.FitRequest | None" = attrs.field(default=None, init=False)
    """None if there is no limit."""
    _learned: dict[str, int] = attrs.field(factory=dict, init=False)
    """The limits that a refusal stated."""
    _in_force: dict[str, int | None] = attrs.field(factory=dict, init=False)
    _beside: Any = attrs.field(default=None, init=False)
    """The system prompt and the tools whose bytes are known."""

    def learn(self, kind: WireUnit, limit: int | None, sent: list[Message]) -> None:
        """Keep the requests from now on within a limit as well; see `View.limit_request`."""
        from agentic.context.strategies._fit_request import (  # noqa: PLC0415  after a refusal only
            LEAST_BYTES,
        )

        count = self.count(kind, sent)
        # A provider may count more than we do, or something besides images.
        if limit is None or limit >= count:
            limit = int(_AFTER_REFUSAL * count)
        name = "max_images" if kind == "images" else "max_bytes"
        limit = limit if kind == "images" else max(LEAST_BYTES, limit)
        self._learned[name] = min(limit, self._learned.get(name, limit))

    def count(self, kind: WireUnit, sent: list[Message]) -> int:
        """Return how many bytes or images a request has, with what is sent beside it if known."""
        size, images = (self.fit or strategies.FitRequest()).measure(sent)
        return images if kind == "images" else size

    def renew(
        self, policy: Policy, model: str, system_prompt: str, tools: Sequence[ToolDefinition]
    ) -> None:
        """Use the limits for the next request, which has this system prompt and these tools."""
        usual = wire_limits(model)
        limits = {
            "max_bytes": self._lowest("max_bytes", policy.max_request_bytes, usual.max_bytes),
            "max_images": self._lowest("max_images", policy.max_images, usual.max_images),
        }
        if limits != self._in_force:
            self._in_force, self._beside = limits, None
            is_limited = any(limit is not None for limit in limits.values())
            self.fit = strategies.FitRequest(*limits.values()) if is_limited else None
        beside = system_prompt, tools
        if self.fit is not None and limits["max_bytes"] is not None and beside != self._beside:
            schemas = [[tool.name, tool.description, tool.parameters] for tool in tools]
            text = json.dumps([system_prompt, schemas], default=dict, ensure_ascii=False)
            self.fit.beside_bytes = len(text.encode("utf-8", "surrogatepass"))
            self._beside = beside

    def exceeded(self, view: list[Message]) -> bool:
        """Return whether a request is over a limit."""
        return self.fit is not None and self.fit.exceeds(view)

    def note(self, view: list[Message]) -> Note:
        """Return a note about a request that is over a limit, whatever was left out."""
        assert self.fit is not None  # noqa: S101  the caller checked
        size, images = self.fit.measure(view)
        parts = []
        if self.fit.max_bytes is not None:
            parts.append(f"{size:,} bytes of {self.fit.max_bytes:,}")
        if self.fit.max_images is not None:
            parts.append(f"{images:,} images of {self.fit.max_images:,}")
        return Note("over_request", f"the request is too large to send: {', '.join(parts)}")

    def _lowest(self, name: str, policy: int | None, usual: int | None) -> int | None:
        limit = usual if policy is None else policy or None
        learned = self._learned.get(name)
        return learned if limit is None else min(limit, learned or limit)
