"""Tools for authors of adapters: read a provider's data and write what the provider accepts.

Start with `Adapter`, `plain`, `at`, `native_payload` and `merge_consecutive`.

- The record: an `Adapter` says everything that others need to know about a provider, with a
  `RequestForm`, an `Sdk` if there is one, an `HttpApi` if a proxy should read the wire, and a
  `ModelOffer` if a chat should offer a model.
- Reading: `plain` turns an SDK's object into a dict; `at`, `items_at` and `text_at` follow
  keys into it.
- Payloads: `native_payload` decides whether a message's original wire data may be sent back.
- Writing: `replace_surrogates`, `arguments_as_object` and `arguments_as_text` produce texts and
  arguments that a server can parse; `NameRule` rewrites names that it rejects; `UniqueIds` and
  `number_ids` give each call an id of its own; `place_record` puts the summary where every wire has
  it; `merge_consecutive` joins messages that must not be adjacent; `media_note`,
  `text_with_media` and `results_with_content` put into a text what the wire has no field for.
- Checking: a validator returns a list of `Violation`; `find_unpaired` finds calls without results
  and results without calls.

`docs/how-to/write-an-adapter.md` explains step by step how to write an adapter.
"""

import typing

from agentic._base import _lazy
from agentic.providers.kit._adapter import Adapter, HttpApi, ModelOffer, Sdk
from agentic.providers.kit._ids import NameRule, UniqueIds, number_ids
from agentic.providers.kit._json import (
    arguments_as_object,
    arguments_as_text,
    at,
    items_at,
    plain,
    replace_surrogates,
    text_at,
)
from agentic.providers.kit._media import media_note, results_with_content, text_with_media
from agentic.providers.kit._messages import merge_consecutive, native_payload
from agentic.providers.kit._record import place_record
from agentic.providers.kit._requests import RequestForm

__all__ = [
    "Adapter",
    "HttpApi",
    "ModelOffer",
    "NameRule",
    "RequestForm",
    "Sdk",
    "Step",
    "UniqueIds",
    "Violation",
    "arguments_as_object",
    "arguments_as_text",
    "at",
    "find_unpaired",
    "items_at",
    "media_note",
    "merge_consecutive",
    "native_payload",
    "number_ids",
    "place_record",
    "plain",
    "replace_surrogates",
    "results_with_content",
    "text_at",
    "text_with_media",
]

if typing.TYPE_CHECKING:
    from agentic.providers.kit._violations import Step, Violation, find_unpaired

# No decider needs them.
__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {"Step": "._violations", "Violation": "._violations", "find_unpaired": "._violations"},
)
