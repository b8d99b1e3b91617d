"""The rules that bind reasoning to the request that produced it, on any wire.

Anthropic: https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks.
OpenAI: https://developers.openai.com/api/docs/guides/keep-prefix-unchanged (both 2026-11-27).

The prefix of a piece of reasoning is all content before it, without other reasoning. Its chain is
the reasoning that stood before it when it was made. Reasoning may be left out from the front, from
the end, or all of it; so what stands before a piece must be an end of its chain.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import attrs

from agentic.testing._model_server._request import Block

__all__ = [
    "BindingRules",
    "Compacted",
    "Made",
    "Mismatch",
    "Verdict",
    "digest",
    "judge",
    "running_hashes",
]


@attrs.frozen(kw_only=True)
class BindingRules:
    """How one wire treats reasoning that is sent back."""

    always: tuple[str, ...] = ()
    """How the names of models begin that check for every account."""
    new_accounts: tuple[str, ...] = ()
    """The same for models that check only for newer accounts, and where a request asks for it."""
    on_mismatch: Literal["error", "remove"] = "error"
    """What happens to invalid reasoning unless the request says otherwise."""
    summary_changes_role: bool = False
    """Whether what follows a server's summary has another role than what it summarized."""
    summary_without_tools: bool = False
    """Whether a summary is made without the tools, which count as those of the request before it:
    what follows a compaction stays valid though its prefix has changed."""
    chain: bool = True
    """Whether a gap in the reasoning makes what follows invalid."""

    def binds(self, model: str) -> bool:
        """Return whether the reasoning of a model is bound to its prefix at all."""
        return model.startswith((*self.always, *self.new_accounts))

    def checks(self, model: str, *, new_account: bool, by_request: bool) -> bool:
        """Return whether a model checks the prefix in this request."""
        if model.startswith(self.always):
            return True
        return model.startswith(self.new_accounts) and (new_account or by_request)


@attrs.frozen(kw_only=True)
class Made:
    """What the server remembers of a piece of reasoning that it made."""

    proof: str
    model: str
    text: str
    """Its visible text, to see whether it was tampered with."""
    prefix: str
    """The hash of all content before it."""
    chain: tuple[str, ...]
    """The proofs of the reasoning before it, as far as it was valid."""
    tokens: int
    """Its size, which its text does not show."""
    after: str
    """The hash behind the first content that followed it."""


@attrs.frozen
class Compacted:
    """What a compaction block stands for."""

    hash: str
    """The hash of all content that it summarized."""
    last_role: str | None
    """The role that must not follow the block; None if any may."""


@attrs.frozen
class Mismatch:
    """A block of reasoning that does not match, and why."""

    block: Block
    reason: str
    dropped: bool = True
    """Whether the model does not see it. False where nobody asked to check."""


@attrs.frozen
class Verdict:
    """What of the reasoning in a request is valid, in order."""

    valid: tuple[Made, ...]
    mismatches: tuple[Mismatch, ...]
    """Reasoning whose prefix or chain does not match."""
    unreadable: tuple[Mismatch, ...]
    """Reasoning of another model, which is dropped without an error."""
    allowed: tuple[Mismatch, ...]
    """Reasoning that does not match, and is valid all the same, because nobody asked to check."""
    tampered: tuple[Block, ...]


def digest(*parts: str) -> str:
    """Return a hash of texts."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def running_hashes(
    blocks: Sequence[Block], compactions: Mapping[str, Compacted], running: str = ""
) -> list[str]:
    """Return the hash of the bound content before each block, and that of all of it at the end.

    Runs of one role are read as one message, so only the role and the content count. A compaction
    block stands for what it summarized, if what follows is another role's. `running` is the hash of
    what stands before the first block.
    """
    hashes = [running]
    for place, block in enumerate(blocks):
        summary = compactions.get(block.text) if block.kind == "compaction" else None
        after = blocks[place + 1].role if place + 1 < len(blocks) else ""
        if summary is not None and summary.last_role != after:
            running = summary.hash
        elif block.bound and block.kind != "reasoning":
            running = digest(running, block.role, block.text)
        hashes.append(running)
    return hashes


def judge(
    blocks: Sequence[Block],
    hashes: Sequence[str],
    proofs: dict[str, Made],
    model: str,
    rules: BindingRules,
    *,
    checks: bool,
) -> Verdict:
    """Check each block of reasoning against the record of how it was made."""
    valid: list[Made] = []
    mismatches: list[Mismatch] = []
    unreadable: list[Mismatch] = []
    exempt: list[Mismatch] = []
    forgeries: list[Block] = []
    for position, block in enumerate(blocks):
        if block.kind != "reasoning":
            continue
        record = proofs.get(block.proof)
        if record is None or record.text != block.words:
            forgeries.append(block)
        elif record.model != model:
            unreadable.append(Mismatch(block, "model_binding_mismatch"))
        elif _matches(record, hashes[position], valid, rules):
            valid.append(record)
        elif checks:
            mismatches.append(Mismatch(block, "prefix_binding_mismatch"))
        else:
            valid.append(record)
            exempt.append(Mismatch(block, "prefix_binding_mismatch", dropped=False))
    verdict = tuple(mismatches), tuple(unreadable), tuple(exempt)
    return Verdict(tuple(valid), *verdict, tuple(forgeries))


def _matches(record: Made, prefix: str, before: Iterable[Made], rules: BindingRules) -> bool:
    if record.prefix != prefix:
        return False
    proofs = tuple(each.proof for each in before)
    start = len(record.chain) - len(proofs)
    return not rules.chain or (start >= 0 and record.chain[start:] == proofs)
