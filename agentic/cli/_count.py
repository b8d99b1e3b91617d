"""`agentic count`: the number of tokens in texts, by the best counter installed for a model."""

import codecs
from io import BufferedReader

import attrs
import click

from agentic import limits, tokens
from agentic._validate import suggest
from agentic.cli._output import describe_problem, json_line, printable, say
from agentic.cli._stdio import open_input

__all__ = ["count_command"]

_BLOCK = 1_048_576
"""The number of bytes read at a time. A larger text is counted in parts that end with a line."""
_NO_MODEL = "default"
_ESTIMATE = "o200k_base itself is estimated, within 10 % on the texts of agents"
"""`benchmarks/estimate/check.py` measures it, on texts that the weights were not fitted to."""
_decoder = codecs.getincrementaldecoder("utf-8")


@attrs.frozen
class _Counted:
    """The size of one text."""

    file: str
    tokens: int
    bytes: int

    def line(self) -> str:
        """Return the line that is printed, in the format of wc(1)."""
        name = "" if self.file == "-" else f" {printable(self.file)}"
        return f"{self.tokens:>9}{name}"


@click.command("count")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option(
    "-m", "--model", default=_NO_MODEL, help="The model whose tokens are counted, such as gpt-5."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def count_command(*, files: tuple[str, ...], model: str, as_json: bool) -> int:
    """Count the tokens of each FILE, or of stdin, and of all of them.

    The counts go to stdout, one a line with the name after it as wc(1) prints them. Which counter
    it was, how exact that is, and whether the model's name is unknown, is on stderr. A byte that is
    no UTF-8 counts as U+FFFD.

    Example: agentic count --model claude-sonnet-4-5 *.md
    """
    counter = tokens.for_model(model)
    counted = []
    for file in files or ("-",):
        try:
            counted.append(_count(file, counter))
        except OSError as problem:  # like wc(1): report it, and continue
            say(describe_problem(problem))
            continue
        if not as_json:
            click.echo(counted[-1].line())
    _sum_up(counted, counter, as_json=as_json)
    return 0 if len(counted) == max(1, len(files)) else 1


def _sum_up(counted: list[_Counted], counter: tokens.ModelCounter, *, as_json: bool) -> None:
    total = _Counted(
        "total", sum(each.tokens for each in counted), sum(each.bytes for each in counted)
    )
    if as_json:
        plain = {
            "model": counter.model,
            "known": is_known(counter),
            "counter": counter.description,
            "exact": counter.is_exact and counter.model != _NO_MODEL,
            "tokens": total.tokens,
            "files": [attrs.asdict(each) for each in counted],
        }
        click.echo(json_line(plain))
        return
    if len(counted) > 1:
        click.echo(total.line())
    if counted:
        say(describe_counter(counter))


def describe_counter(counter: tokens.ModelCounter) -> str:
    """Return which counter it is, how exact, and whether the model's name is unknown.

    >>> describe_counter(tokens.for_model("gpt-4o"))
    'exact: o200k_base by quicktok'
    >>> describe_counter(tokens.for_model("clod-opus-4-5")).partition(": ")[0]
    "unknown model 'clod-opus-4-5' (did you mean 'claude-opus-4-5'?)"
    """
    told = counter.description
    if counter.model == _NO_MODEL:
        by = told.removeprefix("exact: ")
        return f"{by}; no model was named: with --model NAME it is counted for that model"
    if not counter.is_exact and told.startswith("estimated: "):
        told = f"{told}; {_ESTIMATE}"
    return (
        told if is_known(counter) else f"unknown model {_name_and_nearest(counter.model)}: {told}"
    )


def is_known(counter: tokens.ModelCounter) -> bool:
    """Return whether the name is that of a model in the catalog, or of a known vocabulary."""
    return counter.is_exact or limits.lookup(counter.model).known


def _name_and_nearest(model: str) -> str:
    hint = suggest(model.lower(), limits.CONTEXT_LIMITS)
    return f"{model!r} ({hint})" if hint else repr(model)


def _count(file: str, counter: tokens.Counter) -> _Counted:
    with open_input(file) as source:
        return _Counted(file, *_count_tokens(source, counter))


def _count_tokens(source: BufferedReader, counter: tokens.Counter) -> tuple[int, int]:
    """Return the tokens and the bytes of a stream."""
    decode = _decoder("replace").decode
    block = source.read(_BLOCK)
    held, counted, size = decode(block), 0, len(block)
    while block := source.read(_BLOCK):
        # After a line feed, where a tokenizer divides a text as well.
        cut = held.rfind("\n") + 1 or len(held)
        counted += counter.count(held[:cut])
        held, size = held[cut:] + decode(block), size + len(block)
    return counted + counter.count(held + decode(b"", final=True)), size
