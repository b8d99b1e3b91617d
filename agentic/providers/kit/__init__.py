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
    parse_object,
    replace_surrogates,
)
from agentic.providers.kit._messages import merge_consecutive
from agentic.providers.kit._payloads import Decoded, native_payload
from agentic.providers.kit._plain import at, items_at, plain, text_at

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
