"""Validating the arguments of public functions and records; the errors say what is allowed."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, TypeVar

from agentic.errors import ConfigError

if TYPE_CHECKING:
    import attrs

_T = TypeVar("_T")
_Validator: TypeAlias = "Callable[[Any, attrs.Attribute[Any], Any], None]"
# The repr of a TypeVar, which may stand for anything, begins with `~`.
_MAY_AWAIT = ("Awaitable", "Coroutine", "Future", "Task", "Any", "object", "~")
"""Parts of annotations that mean an awaitable, even if the annotations are texts."""
_COUNTERS = {
    "chars": "tokens.CharCounter()",
    "estimate": "tokens.EstimateCounter()",
    "quicktok": "tokens.QuicktokCounter()",
    "tiktoken": "tokens.TiktokenCounter()",
    "tokenizers": 'tokens.TokenizersCounter("tokenizer.json")',
}
"""The counters by the names of their tokenizers."""
_LONGEST_NAME = 128
_ALIKE = 0.85
"""Two words that are more similar than this are assumed to differ by a typo."""
_ENOUGH = 4
"""A part of a word counts as a match if it has at least this many characters."""


def must_be(kind: type[Any], *, optional: bool = False, remedy: str = "") -> _Validator:
    """Return the validator of a field that holds an object of one type."""
    rule = _a(kind) + (" or None" if optional else "")
    if not remedy:
        is_needed = kind is str and not optional
        otherwise = f"make {_a(kind)}, or leave it out"
        remedy = "pass an empty text where there is none" if is_needed else otherwise

    def check(record: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        if isinstance(value, kind) or (optional and value is None):
            return
        raise ConfigError(f"{type(record).__name__}.{attribute.name}", value, rule, remedy)

    return check


def suggest(value: object, names: Iterable[str], otherwise: str = "") -> str:
    """Return a remedy that names the most similar known word, if there is one.

    >>> suggest("sumarization", ["truncation", "summarization"])
    "did you mean 'summarization'?"
    """
    near = nearest(value, names)
    return f"did you mean {near!r}?" if near else otherwise


def nearest(value: object, names: Iterable[str]) -> str:
    """Return the most similar known word; empty if none is similar.

    >>> nearest("raed", ["run", "read"]), nearest("path", ["depth", "file_path"])
    ('read', 'file_path')
    """
    import difflib  # noqa: PLC0415  only an error needs it

    # difflib takes quadratic time, and anything may have been passed, or written by a model.
    text, words = str(value)[:_LONGEST_NAME], list(names)
    near = difflib.get_close_matches(text, words, 1, _ALIKE)
    # Before words that are merely similar: `path` was meant to be `file_path`, and not `match`.
    near += [word for word in words if len(text) >= _ENOUGH and text in word]
    near += difflib.get_close_matches(text, words, 1)
    return near[0] if near else ""


def whole(least: int, *, optional: bool = False, remedy: str = "") -> _Validator:
    """Return the validator of a field that holds a whole number of at least `least`."""

    def check(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        if not (optional and value is None):
            # The alias is what a caller writes: attrs takes the underscore off a private field.
            is_whole(least, value, attribute.alias or attribute.name, remedy, optional=optional)

    return check


def amount(unit: str, remedy: str) -> _Validator:
    """Return the validator of a field that holds a number above 0, or None for no limit."""

    def check(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        # Not `value <= 0`, which is false of NaN.
        if not (value is None or (is_number(value) and value > 0)):
            raise ConfigError(attribute.name, value, f"a number of {unit} above 0, or None", remedy)

    return check


seconds = amount("seconds", "pass None to wait forever")
"""Validates a field that holds a duration in seconds, or None for no limit."""


def share(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    """Validate a field that holds a share, above 0 and up to 1."""
    if not (is_number(value) and 0 < value <= 1):
        remedy = f"leave it at {attribute.default}"
        raise ConfigError(attribute.name, value, "above 0, up to 1.0", remedy)


def score(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    """Validate a field that holds a score from 0 to 1, both inclusive."""
    if not (is_number(value) and 0 <= value <= 1):
        raise ConfigError(attribute.name, value, "a number from 0 to 1", "leave it at its default")


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a number. True is an int to isinstance, and a mistake here.

    NaN is a number, and less and greater than none: compare it by what is allowed.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        # A larger int raises OverflowError in the middle of a run, where a clock or a sum has to
        # make a float of it.
        return abs(value) <= sys.float_info.max
    return isinstance(value, float)


def is_whole(least: int, value: object, name: str, remedy: str, *, optional: bool = False) -> None:
    """Raise unless `value` is a whole number of at least `least`.

    >>> is_whole(1, 3, "turns", "pass more")

    Raises:
        ConfigError: a smaller number, a fraction, a bool (an int in Python), or not a number.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        rule = f"a whole number >= {least}" + (" or None" if optional else "")
        raise ConfigError(name, value, rule, remedy)


def must_have(name: str, part: object, method: str, signature: str, remedy: str) -> None:
    """Raise for an object without a method, and for a class passed instead of its object.

    >>> must_have("counter", "text", "count", "count(text)", "pass one")

    Raises:
        ConfigError: there is no such method.
    """
    # A class has the method as well, and would fail in the middle of a run, for want of an object.
    if isinstance(part, type) or not callable(getattr(part, method, None)):
        raise ConfigError(name, part, f"an object with {signature}", remedy)


def must_be_async(name: str, part: object, method: str, signature: str, remedy: str) -> None:
    """Raise for an object without a method, and for one whose method certainly cannot be awaited.

    That is a plain `def` without an annotation of an awaitable. Any other callable may return an
    awaitable, which only the call can show.

    >>> class Compactor:
    ...     async def compact(self, messages): ...
    >>> must_be_async("compactor", Compactor(), "compact", "async compact(messages)", "pass one")

    Raises:
        ConfigError: there is no such method, or it is not async.
    """
    must_have(name, part, method, signature, remedy)
    if _is_sync(getattr(part, method)):
        raise ConfigError(name, part, f"an object with {signature}", f"write async def {method}")


def must_compact(name: str, part: object, remedy: str) -> None:
    """Raise for an object that is no compactor.

    Raises:
        ConfigError: `compact` is missing, or not async.
    """
    must_be_async(name, part, "compact", "async compact(messages) -> str", remedy)


def must_execute(name: str, part: object) -> None:
    """Raise for an object that has no tools.

    Raises:
        ConfigError: `list_tools` or `execute` is missing, or not async.
    """
    remedy = "pass a tools.Registry, or another object with these methods"
    must_be_async(name, part, "execute", "async execute(call) -> ToolResult", remedy)
    must_be_async(name, part, "list_tools", "async list_tools()", remedy)


def must_be_strategy(name: str, part: object) -> None:
    """Raise for anything but an object with a plain `compact(messages)`, or a plain callable.

    >>> must_be_strategy("strategies", lambda messages: messages)

    Raises:
        ConfigError: a class, something async such as a ContextManager, or something else.
    """
    make_view = getattr(part, "compact", part)
    if isinstance(part, type) or not callable(make_view):
        raise ConfigError(
            name,
            part,
            "a list of objects with compact(messages), or of callables",
            "create an instance and put it in a list",
        )
    if inspect.iscoroutinefunction(_unwrapped(make_view)):
        raise ConfigError(
            name,
            part,
            "a list of objects whose compact(messages) is not a coroutine",
            "pass the strategy itself, or await its compact before the run",
        )


def must_count(name: str, part: object) -> None:
    """Raise for an object that cannot count tokens. A str has a `count`, but is not a counter.

    >>> class Letters:
    ...     def count(self, text): return len(text)
    >>> must_count("counter", Letters())

    Raises:
        ConfigError: a text, a list and the like, a callable, a class, or an async `count`.
    """
    count = getattr(part, "count", None)
    # A model's name was taken for a counter: it counted nothing, so nothing was ever compacted.
    counts = callable(count) and not isinstance(part, type | Sequence)
    if not counts or inspect.iscoroutinefunction(_unwrapped(count)):
        model = part if isinstance(part, str) and part.isprintable() else "gpt-4o"
        remedy = f'pass tokens.for_model("{model[:_LONGEST_NAME]}")'
        # The name of a tokenizer is no model's: there is a counter of that name.
        if model in _COUNTERS:
            remedy = f"pass {_COUNTERS[model]}"
        raise ConfigError(name, part, "an object with count(text) -> int", remedy)


def all_are(kind: type[_T], given: object, name: str, remedy: str = "") -> tuple[_T, ...]:
    """Return `given` as a tuple of objects of one type.

    >>> all_are(str, ["a", "b"], "names")
    ('a', 'b')

    Raises:
        ConfigError: `given` is not iterable, or contains another type.
    """
    if given == ():  # most messages have no parts of most kinds
        return ()
    # What cannot be iterated is refused below, in the same words.
    items = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(item, kind) for item in items):
        raise ConfigError(
            name,
            given,
            f"a list of {kind.__name__}",
            remedy or f"make each {_a(kind)}; leave {name} out where there are none",
        )
    return items


def _is_sync(function: Any) -> bool:
    function = _unwrapped(function)
    # An object that is called, or a function of C, does not say what it returns.
    if not inspect.isfunction(function) or inspect.iscoroutinefunction(function):
        return False
    old_style = function.__code__.co_flags & inspect.CO_ITERABLE_COROUTINE
    # A lambda cannot be annotated, and may well return what an async function returns.
    if old_style or function.__name__ == "<lambda>":
        return False
    result = function.__annotations__.get("return", inspect.Signature.empty)
    if isinstance(result, type) and result not in (Any, object):
        return not hasattr(result, "__await__")
    return not any(word in str(result) for word in _MAY_AWAIT)


def _unwrapped(function: Any) -> Any:
    """Return the function inside partials, methods and decorators."""
    # Not inspect.unwrap, which stops at a partial or a method.
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif inspect.isfunction(function) and hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        else:
            return function


def _a(kind: type[Any]) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"
