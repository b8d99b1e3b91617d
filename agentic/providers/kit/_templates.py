"""What the chat templates of local models demand of the roles in a request.

vLLM, SGLang, llama.cpp and LM Studio render a request by a template that comes with the model, and
refuse what the template refuses:

- Qwen since 3.5 accepts one system message, the first of all: lines 83-86 of
  https://huggingface.co/Qwen/Qwen3.5-27B/blob/main/chat_template.jinja, and
  https://github.com/QwenLM/Qwen3.8/issues/244. So does MiniMax
  (https://github.com/can1357/oh-my-pi/issues/958).
- Mistral's and Gemma's also count the other roles, which have to alternate, apart from calls and
  results: https://github.com/vllm-project/vllm/issues/6862,
  https://github.com/anomalyco/opencode/issues/5034,
  https://github.com/suitenumerique/conversations/issues/197. Ollama renders some models by them,
  too: https://github.com/mistralai/mistral-vibe/issues/1006.
- Z.ai's own server refuses messages of one role in a row:
  https://github.com/Lingtai-AI/lingtai-kernel/issues/70.

All of them were read in 2026-11. Other models and the providers' own servers accept more.
"""

import re
from collections.abc import Mapping
from typing import Any

from agentic.providers.kit._json import at, items_at, text_at

_ONE_SYSTEM = re.compile(r"qwen|qwq|minimax", re.IGNORECASE)
_ALTERNATING = re.compile(
    r"mistral|mixtral|ministral|codestral|devstral|magistral|pixtral|voxtral|gemma|\bglm-",
    re.IGNORECASE,
)
_SYSTEM = {"system", "developer"}
_GO_ON = {"role": "user", "content": "Go on."}


def alternates(model: str) -> bool:
    """Return whether a model's chat template demands roles that alternate.

    >>> alternates("mistralai/Ministral-3-8B-Instruct-2512"), alternates("qwen3.6-27b")
    (True, False)
    """
    return bool(_ALTERNATING.search(model))


def fit_template(
    request: dict[str, Any], model: str, *, strict_roles: bool | None = None
) -> dict[str, Any]:
    """Return the request with the roles that the model's chat template accepts.

    `strict_roles` says whether the template is strict; None means that the model's name tells. A
    template that is not strict gets the request itself.

    >>> turns = [{"role": "user", "content": text} for text in ("Why?", "Now!")]
    >>> len(fit_template({"messages": turns}, "devstral-2-small")["messages"])
    1
    """
    is_alternating = strict_roles is True or alternates(model)
    if strict_roles is False or not (is_alternating or _ONE_SYSTEM.search(model)):
        return request
    messages = with_one_system(items_at(request, "messages"))
    return {**request, "messages": _alternating(messages) if is_alternating else messages}


def with_one_system(messages: list[Any]) -> list[Any]:
    """Join the system messages at the start; write later ones as text of the user in tags.

    >>> turns = [{"role": "user", "content": "Hi."}, {"role": "system", "content": "Now."}]
    >>> with_one_system(turns)[1]["role"]
    'user'
    """
    result: list[Any] = []
    for message in messages:
        if text_at(message, "role") not in _SYSTEM:
            result.append(message)
        elif all(text_at(each, "role") in _SYSTEM for each in result):
            result = [_joined(result[0], message)] if result else [message]
        else:
            text = "\n".join(text_at(part, "text") for part in _parts(at(message, "content")))
            result.append({"role": "user", "content": f"<system>\n{text}\n</system>"})
    return result


def _alternating(messages: list[Any]) -> list[Any]:
    """Join user messages that follow each other, and separate replies by a word of the user's."""
    result: list[Any] = []
    for message in messages:
        before = result[-1] if result else None
        role, role_before = text_at(message, "role"), text_at(before, "role")
        if role == role_before == "user":
            result[-1] = _joined(result[-1], message)
            continue
        # The calls of a turn are not counted, nor is the reply that follows their results.
        if role == role_before == "assistant":
            result.append(_GO_ON)
        result.append(message)
    return result


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return one message with the content of two."""
    contents = [each for each in (first.get("content"), second.get("content")) if each]
    content: Any = [part for each in contents for part in _parts(each)]
    if all(isinstance(each, str) for each in contents):
        # Not every server of a strict template takes a list of parts.
        content = "\n\n".join(contents)
    copy = {**second, **first, "content": content}
    if images := [*items_at(first, "images"), *items_at(second, "images")]:
        copy["images"] = images
    return copy


def _parts(content: Any) -> list[Any]:
    """Return a message's content as a list of parts."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return items_at(content)
