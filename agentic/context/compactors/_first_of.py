"""A chain of compactors, each the fallback of those before it."""

import attrs

from agentic._protocols import Compactor
from agentic._validate import must_be_async
from agentic.errors import CompactionRefused, ConfigError
from agentic.messages import Message

__all__ = ["FirstOf", "first_of"]


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
