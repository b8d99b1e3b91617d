"""Compactors made of compactors: a chain of fallbacks, and prose over the index of a digest."""

import attrs

from agentic._protocols import Compactor
from agentic._validate import must_be, must_be_async
from agentic.context.digest import TITLE, Digest
from agentic.errors import CompactionRefused, ConfigError
from agentic.messages import Message, SummaryText

__all__ = ["first_of", "with_digest"]


def first_of(*compactors: Compactor) -> "FirstOf":
    """Return a compactor that asks these in turn, until one answers with something.

    One that raises, or answers with nothing but white space, has failed, and the next one is asked.
    There is no time limit for one: that is the Manager's, for all of them.

    >>> import asyncio
    >>> from agentic.context.compactors import Digest
    >>> class Offline:
    ...     async def compact(self, messages, /):
    ...         raise ConnectionError("no route to the model")
    >>> chain = first_of(Offline(), Digest())
    >>> asyncio.run(chain.compact([Message("user", "Is it green?")])).splitlines()[-1]
    '- Is it green?'

    Raises:
        ConfigError: no compactor, or something that is none.
    """
    return FirstOf(compactors)


@attrs.frozen
class FirstOf:
    """Compactors in the order in which they are asked. Made by `first_of`."""

    compactors: tuple[Compactor, ...] = attrs.field()

    @compactors.validator
    def _check(self, _: object, value: tuple[object, ...]) -> None:
        if not value:
            raise ConfigError("compactors", value, "at least one", "add a compactors.Digest()")
        for compactor in value:
            signature = "async compact(messages) -> str"
            remedy = "wrap a function in a class with that method"
            must_be_async("compactors", compactor, "compact", signature, remedy)

    def for_conversation(self, *, recall: str | None = None) -> "FirstOf":
        """Return this chain, its digests naming the recall tool of the conversation."""
        adapts = (getattr(each, "for_conversation", None) for each in self.compactors)
        pairs = zip(self.compactors, adapts, strict=True)
        return FirstOf(tuple(adapt(recall=recall) if adapt else each for each, adapt in pairs))

    async def compact(self, messages: list[Message], /) -> str:
        """Return the first answer.

        Raises:
            CompactionRefused: every one failed; its cause is a group of their errors.
        """
        return await self._ask(messages, None)

    async def compact_with(self, messages: list[Message], instructions: str, /) -> str:
        """Return the first answer; a compactor that takes no instructions is asked without them.

        Raises:
            CompactionRefused: every one failed; its cause is a group of their errors.
        """
        return await self._ask(messages, instructions)

    async def _ask(self, messages: list[Message], instructions: str | None) -> str:
        failures: list[Exception] = []
        for compactor in self.compactors:
            guided = getattr(compactor, "compact_with", None) if instructions is not None else None
            try:
                asked = (
                    compactor.compact(messages)
                    if guided is None
                    else guided(messages, instructions)
                )
                return _something(await asked)
            except Exception as failure:  # noqa: BLE001  whatever it is, the next one is asked
                # Not a CancelledError: whoever cancels does not want the next compactor asked.
                failures.append(failure)
        named = "; ".join(
            f"{type(compactor).__name__}: {failure!r}"
            for compactor, failure in zip(self.compactors, failures, strict=True)
        )
        reasons = ExceptionGroup("every compactor failed", failures)
        raise CompactionRefused(f"every compactor failed ({named})") from reasons


def _something(answer: object) -> str:
    if isinstance(answer, str) and answer.strip():
        return answer
    raise CompactionRefused(f"the summary is empty ({answer!r})")


def with_digest(model: Compactor, digest: Digest | None = None) -> "WithDigest":
    """Return a compactor that writes what a model says, and below it a digest.

    The prose says what happened and why; the digest has the user's words, the files, the commands,
    the errors and the identifiers as they stood. A former summary is divided the same way, so that
    each goes on from its own. Notes (see `messages.SummaryText`) are the digest's alone, both ways.
    If the model fails, so does this: put it into
    `first_of(with_digest(model), Digest())`, which is what to use in production.

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
        ConfigError: no compactor, no digest.
    """
    return WithDigest(model, Digest() if digest is None else digest)


@attrs.frozen
class WithDigest:
    """A model's prose over a digest. Made by `with_digest`."""

    model: Compactor = attrs.field()
    digest: Digest = attrs.field(validator=must_be(Digest))

    @model.validator
    def _check(self, _: object, value: object) -> None:
        must_be_async(
            "model", value, "compact", "async compact(messages) -> str", "pass a Model(ask)"
        )

    def for_conversation(self, *, recall: str | None = None) -> "WithDigest":
        """Return this, its digest naming the recall tool of the conversation."""
        adapt = getattr(self.model, "for_conversation", None)
        model = self.model if adapt is None else adapt(recall=recall)
        return WithDigest(model, self.digest.for_conversation(recall=recall))

    async def compact(self, messages: list[Message], /) -> str:
        """Return prose and digest; raises as the model does."""
        # The model first: where it fails, no digest is worked out for nothing.
        prose = await self.model.compact(_each(messages, 0))
        return await self._under(prose, messages)

    async def compact_with(self, messages: list[Message], instructions: str, /) -> str:
        """Return prose with regard to `instructions`, and the digest; raises as the model does."""
        guided = getattr(self.model, "compact_with", None)
        if guided is None:
            return await self.compact(messages)
        return await self._under(await guided(_each(messages, 0), instructions), messages)

    async def _under(self, prose: str, messages: list[Message]) -> str:
        digest = await self.digest.compact(_each(messages, 1))
        text = "\n\n".join(part for part in (prose.strip(), digest) if part)
        return SummaryText(text, SummaryText(digest).notes)


def _each(messages: list[Message], part: int) -> list[Message]:
    """Return the conversation with one part of its former summaries: the prose, or the digest.

    A summary that has no such part is left out; one that is no pair is the prose's. The notes go
    with the digest.
    """
    shown: list[Message] = []
    for message in messages:
        if message.summary is None:
            shown.append(message)
        elif text := _divide(message.summary.content)[part]:
            notes = message.summary.notes if part else {}
            shown.append(attrs.evolve(message.summary, content=text, notes=notes).to_message())
    return shown


def _divide(summary: str) -> tuple[str, str]:
    """Divide a summary before the title of the digest in it."""
    start = 0 if summary.startswith(f"{TITLE}\n") else summary.find(f"\n{TITLE}\n")
    if start < 0:
        return summary, ""
    return summary[:start].strip(), summary[start:].lstrip("\n")
