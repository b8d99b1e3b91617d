"""Read fields of Google's JSON in either spelling, and undo the SDK's encoding of bytes.

The API sends camelCase and also accepts snake_case (https://protobuf.dev/programming-guides/json/).
Clients send both, even within one request.
"""

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentic.providers.kit import plain, text_at

# The keys of parts that are calls, that are results, and that are media.
CALLS = frozenset({"functionCall", "function_call"})
ANSWERS = frozenset({"functionResponse", "function_response"})
WITH_MEDIA = frozenset({"inlineData", "inline_data", "fileData", "file_data"})
FIRST_PROMPT = "initialPromptTokenCount"
"""Not on the wire: the prompt of the first of several requests that a reply took."""
CONTINUATION = "CONTINUATION"
"""The finish reason of a request that reached its limit in the middle of a reply, which goes on
after another request with the token that came with it (`FinishReason` in google-genai 3.6.1)."""
TO_STANDARD = str.maketrans("-_", "+/")
"""Translates base64 of the URL-safe alphabet to the standard one."""


@functools.cache
def _snake(name: str) -> str:
    return re.sub("([A-Z])", r"_\1", name).lower()


def field(data: Any, name: str) -> Any:
    """Return the value under the camelCase name, or under the same name in snake_case.

    >>> field({"function_call": {"name": "read"}}, "functionCall")
    {'name': 'read'}
    """
    if type(data) is not dict and not isinstance(data, Mapping):
        return None
    found = data.get(name)
    return found if found is not None else data.get(_snake(name))


def is_object(data: Any) -> bool:
    """Return whether data has fields."""
    # Checking for dict is ten times as fast as for Mapping.
    return type(data) is dict or isinstance(data, Mapping)


def has_field(data: Any, name: str) -> bool:
    """Return whether the field is present, whatever its value.

    >>> has_field({"text": ""}, "text"), has_field({}, "text")
    (True, False)
    """
    return field(data, name) is not None


def text_of(data: Any, name: str) -> str:
    """Return the string in a field; an empty one if there is anything else."""
    if type(data) is dict and type(found := data.get(name)) is str:
        return found
    found = field(data, name)
    return found if isinstance(found, str) else ""


def list_of(data: Any, name: str) -> list[Any]:
    """Return the list in a field; an empty one if there is anything else."""
    found = field(data, name)
    return found if isinstance(found, list) else []


def keys_of(parts: list[Any]) -> set[str]:
    """Return the keys of all parts, spelled as they are."""
    return {key for part in parts if is_object(part) for key in part}


def parts_of(content: Any) -> list[Any]:
    """Return a content's parts; a string or an object without `parts` is itself the only part.

    >>> parts_of("Hello."), parts_of({"text": "Hello."}), parts_of({"role": "model"})
    ([{'text': 'Hello.'}], [{'text': 'Hello.'}], [])
    """
    if isinstance(content, str):
        return [{"text": content}]
    if isinstance(content, list):
        return [part for item in _flat(content) for part in parts_of(item)]
    parts = field(content, "parts")
    if parts is not None:
        return parts if isinstance(parts, list) else []
    bare = is_object(content) and bool(content) and "role" not in content
    return [content] if bare else []


def _flat(items: list[Any]) -> Iterator[Any]:
    """Yield the items of nested lists, at any depth."""
    waiting = [iter(items)]
    while waiting:
        # The stack itself marks the end of an iterator: no item can be that object.
        item = next(waiting[-1], waiting)
        if item is waiting:
            waiting.pop()
        elif isinstance(item, list):
            waiting.append(iter(item))
        else:
            yield item


def response_of(response: Any) -> dict[str, Any]:
    """Return a response as plain data: from JSON, an SDK object, or the raw body inside one.

    The SDK drops fields that it does not know, unless `should_return_http_response` is set; then
    its object has the text of the body.
    """
    data = plain(response)
    body = text_at(data, "sdkHttpResponse", "body")
    if body and not has_field(data, "candidates"):
        data = _json(body)
    # JSON data is already spelled as the API sent it.
    elif not isinstance(response, Mapping):
        for candidate in list_of(data, "candidates"):
            _restore_bytes(field(candidate, "content"))
        _keep_first_prompt(response, data)
    return data if isinstance(data, dict) else {}


def _keep_first_prompt(response: Any, data: Any) -> None:
    """Write the size of the first prompt, which the SDK keeps outside the data, next to their sum.

    If a reply takes several requests, the SDK adds up their counts
    (`merge_continuation_responses` in google/genai/_extra_utils.py, 3.6.1).
    """
    counts = field(data, "usageMetadata")
    first = getattr(getattr(response, "usage_metadata", None), "initial_prompt_token_count", None)
    if isinstance(counts, dict) and isinstance(first, int):
        counts[FIRST_PROMPT] = first


def contents_of(contents: Any) -> list[Any]:
    """Return contents as a plain list; the SDK also accepts a single one without a list.

    >>> contents_of("Hello."), contents_of(None)
    (['Hello.'], [])
    """
    if isinstance(contents, str | Mapping) or hasattr(contents, "model_dump"):
        return [content_of(contents)]
    return [content_of(item) for item in contents] if isinstance(contents, Iterable) else []


def content_of(content: Any) -> Any:
    """Return a content, which may be JSON data or an SDK object, as plain data."""
    data = plain(content)
    if not (is_object(content) or isinstance(content, str)):
        _restore_bytes(data)
    return data


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _restore_bytes(content: Any) -> None:
    """Convert bytes to standard base64, as the API sends them: the SDK dumps the URL-safe form."""
    # https://github.com/googleapis/python-genai sets `ser_json_bytes="base64"`, for which pydantic
    # uses - and _ (https://pydantic.dev/docs/validation/latest/api/pydantic/config/).
    for part in list_of(content, "parts"):
        for holder, name in ((part, "thoughtSignature"), (field(part, "inlineData"), "data")):
            if spelled := text_of(holder, name):
                # In place: the data has just been dumped from an SDK object, so nobody else has it.
                holder[name] = spelled.translate(TO_STANDARD)
