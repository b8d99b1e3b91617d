"""Tools for authors of adapters: read a provider's data and write what the provider accepts.

Start with `plain`, `at`, `native_payload` and `merge_consecutive`.

- Reading: `plain` turns an SDK's object into a dict; `at`, `items_at` and `text_at` follow
  keys into it.
- Payloads: `native_payload` decides whether a message's original wire data may be sent back.
- Writing: `replace_surrogates`, `arguments_as_object` and `arguments_as_text` produce texts and
  arguments that a server can parse; `NameRule` rewrites names that it rejects; `UniqueIds` and
  `number_ids` give each call an id of its own; `place_record` puts the summary where every wire has
  it; `merge_consecutive` joins messages that must not be adjacent; `media_note`,
  `text_with_media` and `results_with_content` put into a text what the wire has no field for.

`docs/how-to/write-an-adapter.md` explains step by step how to write an adapter.
"""

from agentic.providers.kit._ids import NameRule, UniqueIds, number_ids
from agentic.providers.kit._json import (
    arguments_as_object,
    arguments_as_text,
    at,
    plain,
    replace_surrogates,
)
from agentic.providers.kit._json import items_at as items_at
from agentic.providers.kit._json import parse_object as parse_object
from agentic.providers.kit._json import text_at as text_at
from agentic.providers.kit._media import media_note as media_note
from agentic.providers.kit._media import results_with_content as results_with_content
from agentic.providers.kit._media import text_with_media as text_with_media
from agentic.providers.kit._messages import Decoded as Decoded
from agentic.providers.kit._messages import merge_consecutive, native_payload
from agentic.providers.kit._record import RecordRole as RecordRole
from agentic.providers.kit._record import move_record as move_record
from agentic.providers.kit._record import place_record as place_record

__all__ = [
    "NameRule",
    "UniqueIds",
    "arguments_as_object",
    "arguments_as_text",
    "at",
    "merge_consecutive",
    "native_payload",
    "number_ids",
    "plain",
    "replace_surrogates",
]
