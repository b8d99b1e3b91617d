"""Which models bind their reasoning to the request that produced it, each with source and date.

Such a model compares what precedes a block of reasoning with what preceded it when the block was
made. After a compaction, a cut or an edit of an earlier message they differ. Anthropic's models
then refuse the whole request, OpenAI's remove the reasoning without an error. Older models do not
compare.

A name is read as `lookup` reads it: behind any prefix (`openrouter/anthropic/`, `us.anthropic.`),
with `.` or `-` in its version, before a date or a revision. A member of a family that is newer than
all documented ones is taken to behave as the newest of these, with `known` false.
"""

import re
from collections.abc import Mapping
from datetime import date
from typing import Literal

import attrs

from agentic.errors import ConfigError

# OpenRouter's replies name some models like this: anthropic/claude-4.5-sonnet-20250929.
_VERSION_FIRST = re.compile(r"claude-(\d(?:[-.]\d{1,2})?)-([a-z]+)")
# A longer number is a date (claude-opus-5-20260924), and letters make another name (gpt-4o).
_NAME = re.compile(
    r"(?:^|[/:.])(claude-[a-z]+|gpt)-(?:latest|(\d)(?:[-.](\d{1,2})(?![0-9a-z]))?(?![0-9a-z]))"
)


@attrs.frozen(kw_only=True)
class Binding:
    """How a model treats reasoning whose preceding request has changed since it was made."""

    enforced: Literal["every_account", "new_accounts", "silently"]
    """`every_account`: a request with such reasoning is refused, whoever sends it, unless it asks
    for the reasoning to be dropped. `new_accounts`: it is refused from accounts created since
    `accounts_since`; on an older account, a request that says what shall happen turns the check
    on. `silently`: such reasoning is removed without an error, and the response says so."""
    accounts_since: date | None = None
    """The day since which new accounts are checked, if `enforced` is `new_accounts`."""
    known: bool = True
    """False for a model that is newer than all whose behaviour is documented."""

    @property
    def refuses(self) -> bool:
        """Return whether a request with such reasoning may be refused as a whole."""
        return self.enforced != "silently"


@attrs.frozen
class Family:
    """The members of a family that bind their reasoning, by version, and the page that says so."""

    address: str
    """The address of the page."""
    versions: Mapping[tuple[int, int], Binding]
    read_on: date = date(2026, 11, 27)
    """The day on which the page, or a stored copy of it, was read."""


_CHECKS = "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks"
_KEEP_PREFIX = "https://developers.openai.com/api/docs/guides/keep-prefix-unchanged"
_NEW_ACCOUNTS = Binding(enforced="new_accounts", accounts_since=date(2026, 8, 31))
# Since 2026-11-09, the day of their release:
# https://platform.claude.com/docs/en/models/fable-5-2/whats-new-fable-5-2 (read 2026-11-27)
_EVERY_ACCOUNT = Binding(enforced="every_account")

FAMILIES = {
    "claude-fable": Family(_CHECKS, {(5, 1): _NEW_ACCOUNTS, (5, 2): _EVERY_ACCOUNT}),
    "claude-mythos": Family(_CHECKS, {(5, 1): _NEW_ACCOUNTS, (5, 2): _EVERY_ACCOUNT}),
    "claude-opus": Family(_CHECKS, {(5, 5): _NEW_ACCOUNTS}),
    "claude-sonnet": Family(_CHECKS, {(5, 5): _NEW_ACCOUNTS}),
    "claude-haiku": Family(_CHECKS, {(5, 5): _NEW_ACCOUNTS}),
    "gpt": Family(_KEEP_PREFIX, {(6, 2): Binding(enforced="silently")}),
}


def binds_reasoning(model: str) -> Binding | None:
    """Return how a model treats reasoning behind a change; None if it accepts it.

    >>> binds_reasoning("us.anthropic.claude-fable-5-2-v1:0")
    Binding(enforced='every_account', accounts_since=None, known=True)
    >>> binds_reasoning("openrouter/anthropic/claude-opus-5.5").accounts_since
    datetime.date(2026, 8, 31)
    >>> binds_reasoning("gpt-6.2-sol").refuses
    False
    >>> binds_reasoning("claude-sonnet-4-5") is None
    True

    Raises:
        ConfigError: the name is not a str.
    """
    if not isinstance(model, str):
        raise ConfigError(
            "model", model, "a str such as 'gpt-4o'", "pass the name that you send to the provider"
        )
    match = _NAME.search(_VERSION_FIRST.sub(r"claude-\2-\1", model.strip().lower()))
    if match is None or match[1] not in FAMILIES:
        return None
    versions = FAMILIES[match[1]].versions
    newest = max(versions)
    # A name that ends in -latest has no version, and is the newest.
    if match[2] is None or (int(match[2]), int(match[3] or 0)) > newest:
        return attrs.evolve(versions[newest], known=False)
    return versions.get((int(match[2]), int(match[3] or 0)))
