"""Times that every store can keep and every time zone can show: `datetime` without its ends."""

from datetime import UTC, datetime

__all__ = ["from_timestamp", "in_utc"]

_EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
_LATEST = datetime(9999, 12, 30, tzinfo=UTC)
_MIDDLE_YEAR = 5000


def in_utc(when: datetime) -> datetime:
    """Return a time in UTC, which is also what one without a zone means; the nearest if need be.

    >>> in_utc(datetime.fromisoformat("0001-01-01T00:00:00+14:00")).isoformat()
    '0001-01-02T00:00:00+00:00'
    """
    try:
        found = when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    except OverflowError:
        return _EARLIEST if when.year < _MIDDLE_YEAR else _LATEST
    return min(max(found, _EARLIEST), _LATEST)


def from_timestamp(seconds: float) -> datetime:
    """Return the time that is so many seconds after the epoch; the nearest if need be.

    >>> from_timestamp(1e300).year
    9999
    """
    try:
        return in_utc(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, ValueError, OSError):
        return _LATEST if seconds > 0 else _EARLIEST
