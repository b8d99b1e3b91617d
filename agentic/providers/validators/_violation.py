"""Why a provider would refuse a request for its shape.

A validator gives a list of violations; none means that the request would not be refused for the
rules it knows. Size, keys and the names of models are not its business.
"""

from collections.abc import Iterable

import attrs

__all__ = ["Step", "Violation", "find_unpaired"]


@attrs.frozen
class Violation:
    """One rule that a request breaks."""

    rule: str
    """One word for programs.

    - Pairs: `unanswered_call`, `orphaned_result`, `duplicate_id`.
    - Where a message stands: `first_message` (none, or not a user's), `alternation`, `order`,
      `prefill` (a reply in the last place).
    - What a message is: `role` (unknown, or one that may not say this), `empty_content`, `part`
      (of no kind, or of two), `media`, `thinking`.
    - What a call is: `id`, `name`, `arguments`.
    - The rest of the request: `tools` (as a list; one tool's name is `name`), `max_tokens`,
      `cache` (more marks than may be); `thinking` is about settings, too.
    """
    position: int | None
    """Where in the request's list of messages, from 0; None if it is about all of them."""
    problem: str
    """What is wrong, in a sentence that names the id or the role."""
    source: str
    """The address where the provider states the rule, or a thread that quotes its refusal."""


@attrs.frozen
class Step:
    """One place of a request where calls are made, or where they are answered."""

    position: int
    calls: tuple[str, ...] = ()
    """The ids of the calls that an assistant makes here, in order."""
    results: tuple[str, ...] = ()
    """The ids of the calls that are answered here."""


def find_unpaired(steps: Iterable[Step], source: str) -> list[Violation]:
    """Return which calls are not answered in the very next step, and which results answer none.

    Steps are the request's messages in order, each with what it calls and answers; consecutive
    messages that count as one turn are one step. Rules: `orphaned_result`, `unanswered_call`,
    `duplicate_id`. An id may name a call of an earlier step again: sessions go on after it, and
    the refusals that are quoted name one message (https://github.com/BerriAI/litellm/issues/20048,
    https://github.com/anthropics/claude-code/issues/20901).

    >>> [found.rule for found in find_unpaired([Step(0, calls=("a",)), Step(1)], "https://...")]
    ['unanswered_call']
    """
    found: list[Violation] = []
    asked = Step(-1)
    for step in [*steps, Step(-1)]:
        for call in asked.calls:
            if call not in step.results:
                problem = f"the call {call!r} is not answered right after it"
                found.append(Violation("unanswered_call", asked.position, problem, source))
        answered: set[str] = set()
        for result in step.results:
            if result not in asked.calls:
                problem = f"the result of {result!r} follows no call of that id"
                found.append(Violation("orphaned_result", step.position, problem, source))
            elif result in answered:
                problem = f"the call {result!r} is answered twice"
                found.append(Violation("duplicate_id", step.position, problem, source))
            answered.add(result)
        for call in sorted({*step.calls}):
            if step.calls.count(call) > 1:
                problem = f"the id {call!r} names two calls"
                found.append(Violation("duplicate_id", step.position, problem, source))
        asked = step
    return found
