"""A model's prose, and the digest's index below it: what each does best."""

import attrs

from agentic._protocols import Compactor
from agentic._validate import must_be, must_be_async
from agentic.context.digest import TITLE, Digest
from agentic.messages import Message, SummaryText

__all__ = ["WithDigest", "with_digest"]


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
