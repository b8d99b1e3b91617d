"""What an author of an adapter needs: reading a provider's data, and writing what it accepts.

- Reading: `plain` turns an SDK's object into a dict; `at`, `items_at` and `text_at` follow
  keys into it.
- Payloads: `native_payload` tells whether a message may go back as it came.
- Writing: `sendable` and `sendable_object` make text and arguments such that a server can read
  them; `NameRule` rewrites names that it refuses; `UniqueIds` and `number_ids` keep calls apart;
  `merge_consecutive` joins what must not stand side by side.

`docs/how-to/write-an-adapter.md` goes through an adapter step by step.
"""

from agentic.providers.kit._ids import NameRule, UniqueIds, number_ids
from agentic.providers.kit._json import (
    parse_object,
    sendable,
    sendable_arguments,
    sendable_object,
)
from agentic.providers.kit._messages import merge_consecutive
from agentic.providers.kit._payloads import Decoded, native_payload
from agentic.providers.kit._plain import at, items_at, plain, text_at

__all__ = [
    "Decoded",
    "NameRule",
    "UniqueIds",
    "at",
    "items_at",
    "merge_consecutive",
    "native_payload",
    "number_ids",
    "parse_object",
    "plain",
    "sendable",
    "sendable_arguments",
    "sendable_object",
    "text_at",
]
