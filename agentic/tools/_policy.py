"""Which tools may be used at all, by name.

A tool that a policy refuses is neither shown to the model nor run: a model that is offered what it
may not call spends turns on finding out.
"""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import attrs

from agentic._validate import all_are
from agentic.errors import ConfigError

__all__ = ["AllowlistPolicy", "ToolPolicy", "as_policy"]


@runtime_checkable
class ToolPolicy(Protocol):
    """Decides which tools may be used. It is asked at every listing and before every call."""

    def allows(self, name: str, /) -> bool:
        """Return whether the tool of this name may be shown and run."""


def _names(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ConfigError("names", names, "several names", f"write [{names!r}]")
    return all_are(str, names, "names")


@attrs.frozen
class AllowlistPolicy:
    """Allow the tools that are named, and no others. No names at all allow nothing.

    >>> policy = AllowlistPolicy(["read", "find"])
    >>> policy.allows("read"), policy.allows("run")
    (True, False)
    """

    names: tuple[str, ...] = attrs.field(converter=_names)

    def allows(self, name: str, /) -> bool:
        """Return whether the name is on the list."""
        return name in self.names


def as_policy(allow: ToolPolicy | Iterable[str]) -> ToolPolicy:
    """Take a policy, or the names that are allowed."""
    return allow if isinstance(allow, ToolPolicy) else AllowlistPolicy(allow)
