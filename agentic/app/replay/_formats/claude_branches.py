"""Which entries of a session of Claude Code are on its current branch.

The latest entry leads back to the first by `parentUuid`. Two things make the chain shorter than the
conversation: the results of parallel calls hang on the entry of their call, outside the chain; and
a `progress` entry that a hook writes late names an early entry as its parent.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from agentic.app.replay._formats._format import Entry
from agentic.app.replay._formats._tree import Tree
from agentic.app.replay._json_values import objects_at
from agentic.app.replay._reading import Reading
from agentic.providers.kit import text_at


def current_branch(messages: list[Entry], every: list[Entry], reading: Reading) -> Iterator[Entry]:
    """Yield the entries of the current branch, in the order of the file."""
    # A compaction marker carries no text; it only links the entries around it.
    tree = Tree.of((entry["uuid"], _parent(entry)) for entry in every if text_at(entry, "uuid"))
    chain = tree.chain(messages[-1].get("uuid") if messages else None)
    if not chain:
        yield from messages
        return
    _rejoin(chain, tree, messages, every)
    tree.note_bridges(chain, reading)
    replies = {reply_id(entry) for entry in messages if text_at(entry, "uuid") in chain} - {""}
    # Of all blocks of a reply, since each is an entry of its own.
    calls = {call for entry in messages if reply_id(entry) in replies for call in _calls(entry)}
    for entry in messages:
        # Of parallel calls, only the last result is in the chain: each is linked to its own call.
        answers = set(_answers(entry))
        if (
            text_at(entry, "uuid") in chain
            or reply_id(entry) in replies
            or (answers and answers <= calls)
        ):
            yield entry


def _rejoin(chain: set[str], tree: Tree, messages: list[Entry], every: list[Entry]) -> None:
    """Add what a late progress entry forked off to the chain.

    In a true rewind, too, the chain leaves the entries behind. But then it passes no progress entry
    that was written after them and before anything was said.
    """
    places = {text_at(entry, "uuid"): place for place, entry in enumerate(every)}
    late = {
        text_at(entry, "uuid"): place
        for place, entry in enumerate(every)
        if entry.get("type") == "progress"
    }
    ids = [uuid for entry in messages if (uuid := text_at(entry, "uuid")) in places]
    waiting = [uuid for uuid in late if uuid in chain]
    while waiting:
        progress = waiting.pop()
        fork = _before_progress(progress, tree.parents, late)
        first = places.get(fork or "", -1)
        # The latest entry between them that continues from the fork is where the branch ended.
        for uuid in reversed(ids):
            if not first < places[uuid] < late[progress] or uuid in chain:
                continue
            branch = tree.chain(uuid)
            if fork in branch:
                waiting += [each for each in branch - chain if each in late]
                chain |= branch
                break


def _before_progress(
    uuid: str, parents: Mapping[str, str | None], late: Mapping[str, int]
) -> str | None:
    """Return the entry that a run of progress entries hangs on."""
    path: set[str] = set()
    latest: str | None = uuid
    while latest is not None and latest in late and latest not in path:
        path.add(latest)
        latest = parents.get(latest)
    return latest


def _parent(entry: Entry) -> Any:
    # After a compaction the first is null, and the second leads on.
    return entry.get("parentUuid") or entry.get("logicalParentUuid")


def reply_id(entry: Entry) -> str:
    """Return the id that the provider gave to the reply that an entry belongs to; "" for none."""
    return text_at(entry, "message", "id") if entry["type"] == "assistant" else ""


def blocks_of(entry: Entry) -> list[Entry]:
    """Return the content of an entry's message in blocks."""
    if text := text_at(entry, "message", "content"):
        return [{"type": "text", "text": text}]
    return objects_at(entry, "message", "content")


def _calls(entry: Entry) -> Iterator[str]:
    return (text_at(each, "id") for each in blocks_of(entry) if each.get("type") == "tool_use")


def _answers(entry: Entry) -> Iterator[str]:
    results = (each for each in blocks_of(entry) if each.get("type") == "tool_result")
    return (text_at(each, "tool_use_id") for each in results)
