"""What a page is made from."""

import attrs

from agentic.cli.replay._reading import Transcript
from agentic.cli.replay._records import Replayed

__all__ = ["Report"]


@attrs.frozen(kw_only=True)
class Report:
    """What a page shows. Sizes in tokens."""

    replays: tuple[tuple[Transcript, tuple[Replayed, ...]], ...]
    """Each transcript with its policies, which are the same for all."""
    told: tuple[str, ...]
    """What each policy does, a sentence each."""
    window: int
    reserve: int
    counter: str
    """What counted, and how exactly."""
    providers: tuple[str, ...]
