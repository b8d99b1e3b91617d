"""What an adapter's validator returns, and the rule that all providers share.

A validator returns a list of violations. An empty list means that the request breaks none of the
rules that the validator knows. Sizes, API keys and model names are not checked.
"""

import collections
import collections.abc

import attrs


@attrs.frozen
class Violation:
    """One rule that a request breaks."""

    rule: str
    """A machine-readable name for the rule.

    - Pairs: `unanswered_call`, `orphaned_result`, `duplicate_id`.
    - Position of a message: `first_message` (none, or not a user message), `alternation`, `order`,
      `prefill` (a reply as the last message).
    - Content of a message: `role` (unknown, or not allowed to have this content), `empty_content`,
      `part` (of no type, or of two), `media`, `thinking`.
    - Content of a call: `id`, `name`, `arguments`.
    - Rest of the request: `tools` (the list as a whole; for a tool's name it is `name`),
      `max_tokens`, `cache` (too many marks); `thinking` is also used for settings.
    """
    position: int | None
    """The index in the request's list of messages, from 0; None if all of them are concerned."""
    problem: str
    """A sentence that says what is wrong and names the id or the role."""
    source: str
    """The address of the provider's page with the rule, or of a thread that quotes the error."""


@attrs.frozen
class Step:
    """One place in a request where calls are made or answered."""

    position: int
    calls: tuple[str, ...] = ()
    """The ids of the calls that the assistant makes here, in order."""
    results: tuple[str, ...] = ()
    """The ids of the calls that are answered here."""


def find_unpaired(steps: collections.abc.Iterable[Step], source: str) -> list[Violation]:
    """Return the calls that the very next step does not answer, and the results without a call.

    Steps are the request's messages in order, each with its calls and results; consecutive messages
    that count as one turn are one step. The rules are `orphaned_result`, `unanswered_call` and
    `duplicate_id`.

    >>> [found.rule for found in find_unpaired([Step(0, calls=("a",)), Step(1)], "https://...")]
    ['unanswered_call']
    """
    violations: list[Violation] = []

    def add(rule: str, step: Step, problem: str) -> None:
        violations.append(Violation(rule, step.position, problem, source))

    step_before = Step(-1)
    # The empty step at the end leaves the calls of the last message unanswered.
    for step in [*steps, Step(-1)]:
        # Sets, because a turn may have thousands of calls.
        calls, results, results_before = set(step_before.calls), set(step.results), set[str]()
        for call in step_before.calls:
            if call not in results:
                add(
                    "unanswered_call",
                    step_before,
                    f"the call {call!r} is not answered right after it",
                )
        for result in step.results:
            if result not in calls:
                add("orphaned_result", step, f"the result of {result!r} follows no call of that id")
            elif result in results_before:
                add("duplicate_id", step, f"the call {result!r} is answered twice")
            results_before.add(result)
        # In this step alone: sessions go on after an id of an earlier one, and the errors are about
        # one message (https://github.com/BerriAI/litellm/issues/20048,
        # https://github.com/anthropics/claude-code/issues/20901).
        for call, times in collections.Counter(step.calls).items():
            if times > 1:
                add("duplicate_id", step, f"the id {call!r} is used by two calls")
        step_before = step
    return violations
