"""The rules on roles, and on pairs of calls and results, which each wire words its own way."""

import itertools
from collections.abc import Sequence

import attrs

from agentic.testing._model_server._request import Block, ReadRequest, Refusal

__all__ = ["StructureRules", "check_structure", "find_lost", "running_loop"]


@attrs.frozen(kw_only=True)
class StructureRules:
    """What one wire refuses, and in which words. `{message}` is a position, `{path}` a path."""

    unanswered: str
    """For calls without results: `{ids}`, `{id}`."""
    orphaned: str
    """For a result without its call: `{id}`."""
    duplicate: str
    """For a second call or result with the same id: `{id}`."""
    lost_reasoning: str
    """For a call of the running loop whose reasoning did not come back: `{id}`, `{proof}`."""
    adjacent: bool = True
    """Whether results stand directly behind their calls."""
    results_first: str = ""
    """For content of the user's before a result, where that is refused."""
    first_role: str = ""
    """For a first message that is not the user's, where that is refused."""
    late_system: str = ""
    """For a system message behind the first message that is not allowed there: `{role}`."""
    system_between_turns: bool = False
    """Whether a system message is allowed there if it is not between a call and its result."""
    alternation: str = ""
    """For two messages of one role in a row, where that is refused."""
    prefill: str = ""
    """For a last message that is the assistant's, where that is refused."""
    last_reasoning: str = ""
    """For an assistant message that ends in reasoning, where that is refused."""


def check_structure(request: ReadRequest, rules: StructureRules) -> None:
    """Raise for the first rule that a request breaks.

    Raises:
        Refusal: it breaks a rule.
    """
    content = [block for block in request.blocks if block.role not in ("tools", "system")]
    _check_system(request.blocks, rules)
    _check_roles(content, rules, compacts=request.compacts)
    _check_ids(content, rules)
    runs = _runs(content)
    if rules.adjacent:
        _check_adjacent(runs, rules)
    else:
        _check_pairs(content, rules)
    for message in _messages(content):
        if rules.last_reasoning and message[-1].kind == "reasoning":
            raise _refusal("roles", rules.last_reasoning, message[-1])


def running_loop(blocks: Sequence[Block]) -> list[Block]:
    """Return the content since the user last spoke: replies, and the results between them."""
    content = [block for block in blocks if block.role not in ("tools", "system")]
    loop: list[Block] = []
    for run in reversed(_runs(content)):
        # Text next to a result belongs to the loop; text alone is the user's.
        if run[0].role == "user" and not any(block.kind == "result" for block in run):
            break
        loop[:0] = run
    return loop


def find_lost(request: ReadRequest, rules: StructureRules, wants: dict[str, str]) -> Refusal | None:
    """Return the refusal of a running loop whose reasoning did not come back, if it is one.

    `wants` has the proof of the reasoning before each call that the server made.
    """
    # What is to be summarized may end with the reply that ends a loop.
    if (
        request.compacts
        and request.blocks[-1].kind == "text"
        and request.blocks[-1].role == "assistant"
    ):
        return None
    present = {block.proof for block in request.reasoning}
    for block in running_loop(request.blocks):
        proof = wants.get(block.id, "") if block.kind == "call" and block.tied else ""
        if proof and proof not in present:
            return _refusal("loop", rules.lost_reasoning, block, proof=proof)
    return None


def _check_system(blocks: Sequence[Block], rules: StructureRules) -> None:
    """Check system messages among the others: those in front are the system prompt."""
    messages = [block for block in blocks if block.role != "tools"]
    for before, block in itertools.pairwise(messages):
        if block.role != "system" or before.role == "system" or not rules.late_system:
            continue
        open_call = before.kind == "call"
        if open_call or not rules.system_between_turns:
            raise _refusal("roles", rules.late_system, block)


def _check_roles(
    content: Sequence[Block], rules: StructureRules, *, compacts: bool = False
) -> None:
    if not content:
        return
    first = content[0]
    if rules.first_role and first.role != "user" and first.kind != "compaction":
        raise _refusal("roles", rules.first_role, content[0])
    if rules.prefill and content[-1].role == "assistant" and not compacts:
        raise _refusal("roles", rules.prefill, content[-1])
    for before, block in itertools.pairwise(content):
        if rules.alternation and before.role == block.role and before.message != block.message:
            raise _refusal("roles", rules.alternation, block)


def _check_ids(content: Sequence[Block], rules: StructureRules) -> None:
    """Check that no id names two calls, or two results, at once."""
    is_open: dict[str, bool] = {}
    for block in content:
        if block.kind == "call":
            if is_open.get(block.id) or (block.id in is_open and rules.adjacent):
                raise _refusal("pairing", rules.duplicate, block)
            is_open[block.id] = True
        elif block.kind == "result":
            if is_open.get(block.id) is False:
                raise _refusal("pairing", rules.duplicate, block)
            is_open[block.id] = False


def _check_adjacent(runs: Sequence[Sequence[Block]], rules: StructureRules) -> None:
    for position, run in enumerate(runs):
        before = runs[position - 1] if position else []
        after = runs[position + 1] if position + 1 < len(runs) else []
        ids = {block.id for block in before if block.kind == "call"}
        answers = {block.id for block in after if block.kind == "result"}
        for block in run:
            if block.kind == "result" and block.id not in ids:
                raise _refusal("pairing", rules.orphaned, block)
        calls = [block for block in run if block.kind == "call"]
        missing = [block.id for block in calls if block.id not in answers]
        if missing:
            raise _refusal("pairing", rules.unanswered, calls[0], ids=", ".join(missing))
        kinds = [block.kind == "result" for block in run]
        if rules.results_first and kinds != sorted(kinds, reverse=True):
            raise _refusal("pairing", rules.results_first, run[0])


def _check_pairs(content: Sequence[Block], rules: StructureRules) -> None:
    calls = {block.id: block for block in content if block.kind == "call"}
    results = {block.id: block for block in content if block.kind == "result"}
    for call_id, block in calls.items():
        if call_id not in results:
            raise _refusal("pairing", rules.unanswered, block, ids=call_id)
    for call_id, block in results.items():
        if call_id not in calls:
            raise _refusal("pairing", rules.orphaned, block)


def _runs(content: Sequence[Block]) -> list[list[Block]]:
    return [list(run) for _, run in itertools.groupby(content, key=lambda block: block.role)]


def _messages(content: Sequence[Block]) -> list[list[Block]]:
    return [list(each) for _, each in itertools.groupby(content, key=lambda block: block.message)]


def _refusal(reason: str, words: str, block: Block, **more: str) -> Refusal:
    fields = {"message": block.message, "path": block.path, "id": block.id, "role": block.role}
    return Refusal(reason, words.format(**{**fields, "ids": block.id, **more}))
