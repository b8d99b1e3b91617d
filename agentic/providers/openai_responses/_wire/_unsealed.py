"""Reasoning that cannot go back: the provider has not stored it, and the item does not hold it."""

from collections.abc import Iterator
from typing import Any

from agentic.providers._plain import text_at
from agentic.providers.openai_responses._wire._items import item_role, type_of

__all__ = ["UNSEALED_SOURCE", "is_unsealed", "without_unsealed"]

UNSEALED_SOURCE = "https://github.com/vercel/ai/issues/7543"
_TIED = {"message", "function_call", "custom_tool_call"}


def is_unsealed(item: Any) -> bool:
    """Tell OpenAI's reasoning without its encrypted content: it is looked up by its id.

    >>> is_unsealed({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": None})
    True
    """
    stored = type_of(item) == "reasoning" and text_at(item, "id").startswith("rs_")
    return stored and not text_at(item, "encrypted_content")


def without_unsealed(items: list[Any]) -> list[Any]:
    """Leave out such reasoning, and the ids that tie what followed to it.

    An id whose reasoning is missing is refused: https://github.com/0xPlaygrounds/rig/issues/751.
    """
    return list(_kept(items)) if any(map(is_unsealed, items)) else items


def _kept(items: list[Any]) -> Iterator[Any]:
    tied = False
    for item in items:
        tied = item_role(item) == "assistant" and (tied or is_unsealed(item))
        if is_unsealed(item):
            continue
        if tied and type_of(item) in _TIED:
            yield {key: value for key, value in item.items() if key != "id"}
        else:
            yield item
