"""Usage: counts that add up, whatever a provider sends."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.usage import Usage, normalize


def asdict(usage: Usage) -> dict[str, int]:
    """Return the counts of a usage."""
    return attrs.asdict(usage, filter=attrs.filters.exclude("summed"))


COUNTS = st.integers(min_value=0, max_value=10**9)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS | st.just(0), COUNTS, COUNTS, COUNTS)
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=10**308, max_value=10**400),
    st.floats(),
    st.decimals(),
    st.text(),
    st.lists(st.integers()),
)


@given(st.lists(ANYTHING, min_size=6, max_size=6))
def test_any_count_is_a_whole_number(sent: list[object]) -> None:
    """Null, NaN, infinity, a text or a number beyond any float gives a count and no error."""
    usage = Usage(*sent)

    assert all(type(count) is int and count >= 0 for count in asdict(usage).values())


@pytest.mark.parametrize(
    ("sent", "count"),
    [
        (12, 12),
        (12.9, 12),
        (10**400, 10**400),
        (0.5, 0),
        (-3, 0),
        (None, 0),
        ("12", 12),
        ("-12", 0),
        ("1e3", 0),
        ("٣", 0),
        ("", 0),
        ("9" * 5_000, 0),
        (True, 0),
        (float("nan"), 0),
        (float("inf"), 0),
        (float("-inf"), 0),
    ],
)
def test_count_is_read_from_a_number(sent: object, count: int) -> None:
    """A fraction is cut off, digits are read from a text; what is no number of tokens is none."""
    assert Usage(input=sent).input == count


@given(USAGES, USAGES)
def test_sum_adds_every_bucket(left: Usage, right: Usage) -> None:
    """Each count of the sum is the sum of the counts, totals filled first."""
    got = asdict(left + right)

    a, b = asdict(normalize(left)), asdict(normalize(right))
    assert got == {name: a[name] + b[name] for name in a}


@given(USAGES, USAGES, USAGES)
def test_order_of_sum_is_irrelevant(a: Usage, b: Usage, c: Usage) -> None:
    """Usage of a run is the same however its calls are grouped."""
    assert (a + b) + c == a + (b + c) == c + b + a


@given(st.lists(USAGES, min_size=1))
def test_list_sum_needs_no_start(usages: list[Usage]) -> None:
    """`sum` works as on numbers, and its total is filled even for one call."""
    assert sum(usages) == sum(usages, start=Usage())


def test_sum_fills_missing_totals() -> None:
    """A provider's total is kept, another's is computed, and the two add up."""
    told, silent = Usage(input=10, output=5, total=17), Usage(input=3, output=2)

    assert (told + silent).total == (silent + told).total == 22


def test_only_a_usage_can_be_added() -> None:
    """A bare number does not say which bucket it belongs to."""
    with pytest.raises(TypeError):
        Usage(input=1) + 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        1 + Usage(input=1)


def test_normalize_keeps_the_providers_total() -> None:
    """A provider may count more than it itemizes."""
    usage = Usage(input=10, output=5, total=17)

    assert normalize(usage) is usage


def test_normalize_without_usage_is_nothing_used() -> None:
    """A reply without usage adds nothing to a run."""
    assert normalize(None) == Usage()


@given(USAGES)
def test_normalize_is_idempotent_touching_totals_only(usage: Usage) -> None:
    """Normalizing twice is normalizing once, and the buckets stay."""
    got = normalize(usage)

    assert normalize(got) == got
    assert asdict(got) | {"total": 0} == asdict(usage) | {"total": 0}
    assert got.total == (usage.total or usage.input + usage.output)
