"""A page that states facts about models, and the day on which it was read."""

from collections.abc import Mapping
from datetime import date
from typing import Generic, TypeVar

import attrs

Facts = TypeVar("Facts")


@attrs.frozen
class Source(Generic[Facts]):
    """One page, and what it states about each of some models."""

    address: str
    """The address of the page."""
    models: Mapping[str, Facts]
    read_on: date
    """The day on which the page, or a stored copy of it, was read."""
