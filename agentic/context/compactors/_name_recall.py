"""Telling the digests in a compactor of the tool that reads a session's own past back."""

from typing import Any

import attrs

from agentic.context.compactors._digest import Digest
from agentic.context.compactors._first_of import FirstOf
from agentic.context.compactors._with_digest import WithDigest

__all__ = ["name_recall"]


def name_recall(compactor: Any, name: str) -> Any:
    """Let the cuts in a compactor's digests name a recall tool, within chains too.

    >>> name_recall(Digest(), "recall").recall
    'recall'
    >>> name_recall(Digest(recall="look_up"), "recall").recall
    'look_up'
    """
    if isinstance(compactor, Digest) and compactor.recall is None:
        return attrs.evolve(compactor, recall=name)
    if isinstance(compactor, FirstOf):
        return FirstOf(tuple(name_recall(each, name) for each in compactor.compactors))
    if isinstance(compactor, WithDigest):
        model, digest = name_recall(compactor.model, name), name_recall(compactor.digest, name)
        return WithDigest(model, digest)
    return compactor
