"""Compactors made of compactors: a chain of fallbacks, and a model's prose above a digest."""

import attrs

from agentic._base._validate import must_be, must_compact
from agentic.context._for_conversation import ContextualBase, for_conversation, start_compactor
from agentic.context.digest import Digest
from agentic.context.digest._section import TITLE
from agentic.errors import CompactionRefused, ConfigError
from agentic.messages import Message, SummaryText
from agentic.protocols import CompactionContext, Compactor


def first_of(*compactors: Compactor) -> "FirstOf":
    """Return a compactor that tries these in order until one returns a summary.

    If a compactor raises, or returns only whitespace, it has failed and the next one is tried.
    There is no time limit for each compactor; the Manager has a single one for the whole chain.

    >>> import asyncio
    >>> from agentic.context.compactors import Digest
    >>> class Offline:
    ...     async def compact(self, messages, /):
    ...         raise ConnectionError("no route to the model")
    >>> chain = first_of(Offline(), Digest())
    >>> asyncio.run(chain.compact([Message("user", "Is it green?")])).splitlines()[-1]
    '- Is it green?'

    Raises:
        ConfigError: there are no arguments, or one of them is not a compactor.
    """
    return FirstOf(compactors)


@attrs.frozen
class FirstOf(ContextualBase):
    """Compactors in the order in which they are tried. Created by `first_of`."""

    compactors: tuple[Compactor, ...] = attrs.field()

    @compactors.validator
    def _check(self, _: object, value: tuple[object, ...]) -> None:
        if not value:
            raise ConfigError("compactors", value, "at least one", "add a compactors.Digest()")
        for compactor in value:
            must_compact("compactors", compactor, "wrap a function in a class with that method")

    def for_conversation(self, *, recall: str | None = None) -> "FirstOf":
        """Return this chain with digests that name the recall tool of the conversation."""
        return FirstOf(tuple(for_conversation(each, recall) for each in self.compactors))

    async def compact_in(self, messages: list[Message], context: CompactionContext, /) -> str:
        """Return the first answer, as `compact` does; each is told the context if it takes it."""
        failures: list[Exception] = []
        reasons: list[str] = []
        for compactor in self.compactors:
            try:
                answer: object = await start_compactor(compactor, messages, context)
            except Exception as failure:  # noqa: BLE001  whatever it is, the next one is asked
                # A CancelledError propagates: after a cancellation no other compactor may be tried.
                failures.append(failure)
            else:
                if isinstance(answer, str) and answer.strip():
                    return answer
                failures.append(CompactionRefused(f"the summary is empty ({answer!r})"))
            reasons.append(f"{type(compactor).__name__}: {failures[-1]!r}")
            context.failures.append(reasons[-1])
        message = f"every compactor failed ({'; '.join(reasons)})"
        raise CompactionRefused(message) from ExceptionGroup("every compactor failed", failures)


def with_digest(model: Compactor, digest: Digest | None = None) -> "WithDigest":
    """Return a compactor that writes a model's summary, followed by a digest.

    The model's prose says what happened and why. The digest contains the user's words, files,
    commands, errors and identifiers verbatim. A former summary is divided in the same way, so that
    the model and the digest each continue from their own part. Notes (see `messages.SummaryText`)
    are read and written only by the digest.

    If the model fails, so does this compactor. In production, use
    `first_of(with_digest(model), Digest())`.

    >>> import asyncio
    >>> class Prose:
    ...     async def compact(self, messages, /):
    ...         return "The build was mended."
    >>> talk = [Message("user", "Is it green?")]
    >>> print(asyncio.run(with_digest(Prose()).compact(talk)))
    The build was mended.
    <BLANKLINE>
    # Digest of the conversation so far
    <BLANKLINE>
    ## What the user asked
    - Is it green?

    Raises:
        ConfigError: `model` is not a compactor, or `digest` is not a Digest.
    """
    return WithDigest(model, Digest() if digest is None else digest)


@attrs.frozen
class WithDigest(ContextualBase):
    """A model's prose above a digest. Created by `with_digest`."""

    model: Compactor = attrs.field()
    digest: Digest = attrs.field(validator=must_be(Digest))

    @model.validator
    def _check(self, _: object, value: object) -> None:
        must_compact("model", value, "pass a Model(ask)")

    def for_conversation(self, *, recall: str | None = None) -> "WithDigest":
        """Return a copy whose digest names the recall tool of the conversation."""
        model, digest = for_conversation(self.model, recall), for_conversation(self.digest, recall)
        return WithDigest(model, digest)

    async def compact_in(self, messages: list[Message], context: CompactionContext, /) -> str:
        """Return prose and digest; the model is told the context if it takes it."""
        # The model first: if it fails, the digest would be wasted work.
        prose = await start_compactor(self.model, _each(messages, 0), context)
        return await self._under(prose, messages)

    async def _under(self, prose: str, messages: list[Message]) -> str:
        digest = await self.digest.compact(_each(messages, 1))
        text = "\n\n".join(part for part in (prose.strip(), digest) if part)
        # Joining makes a plain str, and the digest's notes would be lost.
        return SummaryText(text, SummaryText(digest).notes)


def _each(messages: list[Message], part: int) -> list[Message]:
    """Return the conversation with only one part of its former summaries: 0 prose, 1 digest."""
    visible: list[Message] = []
    for message in messages:
        if message.summary is None:
            visible.append(message)
        elif text := _divide(message.summary.content)[part]:
            # The notes are the digest's: whoever writes the prose cannot read them.
            notes = message.summary.notes if part else {}
            visible.append(attrs.evolve(message.summary, content=text, notes=notes).to_message())
    return visible


def _divide(summary: str) -> tuple[str, str]:
    """Split a summary into the prose and the digest, which begins with its title."""
    # A line of its own: the prose may name the title within a sentence.
    start = 0 if summary.startswith(f"{TITLE}\n") else summary.find(f"\n{TITLE}\n")
    if start < 0:
        return summary, ""
    return summary[:start].strip(), summary[start:].lstrip("\n")
