"""How a model binds its reasoning to the request that produced it: the record, and its rows' form.

Such a model compares what precedes a block of reasoning with what preceded it when the block was
made. After a compaction, a cut or an edit of an earlier message they differ. Anthropic's models
then refuse the whole request, OpenAI's remove the reasoning without an error. Older models do not
compare.
"""

from collections.abc import Mapping
from datetime import date
from typing import Literal

import attrs


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
class BoundFamily:
    """The members of a family that bind their reasoning, by version, and the page that says so."""

    address: str
    """The address of the page."""
    versions: Mapping[tuple[int, int], Binding]
    read_on: date = date(2026, 11, 27)
    """The day on which the page, or a stored copy of it, was read."""
