"""A compactor that looks up in a model's summary what can be checked without a model.

These facts are read by a `Digest`. What the summary lacks is listed below it, which takes no
request. The digest's notes stay with the summary, so that later summaries are checked for the facts
of all that came before.
"""

import re
from collections.abc import Iterable, Sequence

import attrs

from agentic._base._validate import must_be, must_compact, whole
from agentic._base._waiting import off_loop
from agentic.context._for_conversation import ContextualBase, for_conversation, start_compactor
from agentic.context.digest import Digest
from agentic.context.digest._digest import holds_digest
from agentic.context.digest._section import Fact
from agentic.messages import Message, SummaryText
from agentic.messages._coverage import Coverage
from agentic.protocols import CompactionContext, Compactor

HEADING = "## Facts that the summary above lacks"
_WORD = re.compile(r"\w{3,}")
_ENOUGH = 0.6
"""The share of a fact's words that a summary with this fact has. Models repeat what is short word
by word, and say the rest in other words."""


def with_coverage(model: Compactor, digest: Digest | None = None) -> "WithCoverage":
    """Return a compactor that adds to a model's summary the facts that it lacks.

    `digest` reads the facts: the user's rules, files that were changed, what still fails, open
    to-dos, and the latest request unless it stays behind the summary. A summary that a `Digest`
    wrote has them, and is returned as it is. How many were missing is in `Compaction.coverage`.

    >>> import asyncio
    >>> class Prose:
    ...     async def compact(self, messages, /):
    ...         return "The build was mended."
    >>> talk = [Message("user", "Mend the build. Never touch the tests.")]
    >>> context = CompactionContext(kept=tuple(talk))
    >>> print(asyncio.run(with_coverage(Prose()).compact_in(talk, context)))
    The build was mended.
    <BLANKLINE>
    ## Facts that the summary above lacks
    - Rule of the user: Never touch the tests.

    Raises:
        ConfigError: `model` is not a compactor, or `digest` is not a Digest.
    """
    return WithCoverage(model, Digest() if digest is None else digest)


@attrs.frozen
class WithCoverage(ContextualBase):
    """A model's summary with the facts that it lacks. Created by `with_coverage`."""

    model: Compactor = attrs.field()
    digest: Digest = attrs.field(validator=must_be(Digest))
    max_tokens: int = attrs.field(default=500, kw_only=True, validator=whole(1))
    """The largest size of what is added. Rules come first, files and the request last."""

    @model.validator
    def _check(self, _: object, value: object) -> None:
        must_compact("model", value, "pass a Model(ask)")

    def for_conversation(self, *, recall: str | None = None) -> "WithCoverage":
        """Return a copy with parts that are of the conversation, too."""
        model, digest = for_conversation(self.model, recall), for_conversation(self.digest, recall)
        return attrs.evolve(self, model=model, digest=digest)

    async def compact_in(self, messages: list[Message], context: CompactionContext, /) -> str:
        """Return the summary with what it lacks; the model is told the context if it takes it."""
        text = await start_compactor(self.model, messages, context)
        return await cover(text, messages, context, self.digest, self.max_tokens)


async def cover(
    text: str,
    messages: list[Message],
    context: CompactionContext,
    digest: Digest,
    max_tokens: int,
) -> str:
    """Return a summary of messages with the facts that it lacks, and the digest's notes."""
    summary = SummaryText(text)
    # A former digest is known by its notes, and one that was just written has all of it.
    if not text.strip() or holds_digest(summary.notes):
        return text
    read = await off_loop(len(messages), digest.read_facts, messages)
    # The latest request that is read stands behind the summary if any request does.
    stays = any(each.role == "user" for each in context.kept)
    facts = [fact for fact in read.facts if not (fact.is_request and stays)]
    missing = find_missing(facts, text)
    lines = _fitting(missing, digest, max_tokens)
    coverage = Coverage(facts=len(facts), missing=len(missing))
    notes = {**read.notes, **summary.notes, **coverage.to_notes()}
    addition = f"\n\n{HEADING}\n" + "\n".join(lines) if lines else ""
    return SummaryText(f"{text.rstrip()}{addition}", notes)


def find_missing(facts: Iterable[Fact], text: str) -> list[Fact]:
    """Return the facts that a text does not have."""
    words = frozenset(_WORD.findall(text.casefold()))
    return [fact for fact in facts if not _has(text, words, fact)]


def _has(text: str, words: frozenset[str], fact: Fact) -> bool:
    if fact.name:
        return re.search(rf"(?<![\w-]){re.escape(fact.name)}(?![\w-])", text) is not None
    # Without the label in front, which is ours.
    fact_words = set(_WORD.findall(fact.line.partition(": ")[2].casefold()))
    return len(fact_words & words) >= _ENOUGH * len(fact_words)


def _fitting(missing: Sequence[Fact], digest: Digest, max_tokens: int) -> list[str]:
    """Return the lines of facts that fit, the request last, and how many did not."""
    lines: list[str] = []
    remaining = max_tokens - digest.counter.count(HEADING)
    for fact in sorted(missing, key=lambda fact: (fact.is_request, bool(fact.name))):
        line = f"- {fact.line}"
        remaining -= digest.counter.count(line) + 1
        if remaining < 0:
            return [*lines, f"- ({len(missing) - len(lines)} more)"]
        lines.append(line)
    return lines
