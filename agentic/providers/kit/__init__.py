"""What an author of an adapter needs: reading a provider's data, and writing what it accepts.

Start with `plain`, `at`, `native_payload` and `merge_consecutive`.

- Reading: `plain` turns an SDK's object into a dict; `at`, `items_at` and `text_at` follow
  keys into it.
- Payloads: `native_payload` decides whether a message may go back as it came.
- Writing: `replace_surrogates`, `arguments_as_object` and `arguments_as_text` make texts and
  arguments that a server can read; `NameRule` rewrites names that it refuses; `UniqueIds` and
  `number_ids` keep calls apart; `merge_consecutive` joins what must not stand side by side.

`docs/how-to/write-an-adapter.md` goes through an adapter step by step.
"""

from agentic.providers.kit._ids import NameRule, UniqueIds, number_ids
from agentic.providers.kit._json import (
    arguments_as_object,
    arguments_as_text,
    at,
    items_at,
    parse_object,
    plain,
    replace_surrogates,
    text_at,
)
from agentic.providers.kit._messages import Decoded, merge_consecutive, native_payload

__all__ = [
    "Decoded",
    "NameRule",
    "UniqueIds",
    "arguments_as_object",
    "arguments_as_text",
    "at",
    "items_at",
    "merge_consecutive",
    "native_payload",
    "number_ids",
    "parse_object",
    "plain",
    "replace_surrogates",
    "text_at",
]
