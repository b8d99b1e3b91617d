"""A code reviewer that reads more than its window holds, and still reports every finding.

Run `python examples/code-reviewer` to review this repository's own package, or pass a folder.
`--window 8000` sets a smaller window; `--session review.jsonl` keeps the conversation.
`--model openai_chat:gpt-4.1` uses that model; any provider in `agentic.providers` works. Without a
model, an offline reviewer looks for problems in the syntax tree.

There is one request, and one file per turn. The reviewer states each finding once, when it sees it.
At the end, all but the newest files have left its window, and the report is made from what the
summaries kept. A custom compactor of twelve lines, `Findings`, keeps what must not be lost, and a
digest adds the rest.
"""

import argparse
import ast
import asyncio
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from agentic import events, history, loop, providers, tokens, tools, truncate
from agentic.context import budget, compactors
from agentic.errors import AgenticError
from agentic.messages import ContextSummary, Message, ToolCall
from agentic.tools import tool

PACKAGE = Path(__file__).parents[2] / "agentic"
LONGEST = 50
PROMPT = f"""\
You review Python code: functions over {LONGEST} lines, and handlers that catch every exception.
Call next_file again and again, each time with the path that it gave you last, until there is none.
Say what you find at once, as `path line 12: what it is.`, and repeat all of it in a report at the
end."""
DONE = "There are no more files."
FINDING = re.compile(r"\S+ line \d+: [^.\n]+\.")


class Shelf:
    """The only tool: it returns the files of a folder, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def next_file(self, after: str = "") -> str:
        """Return the path and text of the first Python file, or of the next one after a path."""
        # As texts, since paths are ordered by their parts: a/b.py is before a.py.
        paths = sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*.py"))
        for path in paths:
            if path > after:
                return f"{path}\n{(self.folder / path).read_text(errors='replace')}"
        return DONE


class Findings:
    """Summarizes a review: all findings verbatim, including those of a former summary."""

    async def compact(self, messages: list[Message], /) -> str:
        """Return the findings, in order."""
        return "\n".join(found_in(messages)) or "Nothing was found so far."


def found_in(messages: Iterable[Message]) -> list[str]:
    """Return the findings in assistant messages and summaries, each once."""
    said = (message.content for message in messages if message.role in {"assistant", "system"})
    return sorted({finding for text in said for finding in FINDING.findall(text)})


class Offline:
    """Reviews without a model. It has no memory: all it knows is in the view that it receives."""

    name = "an offline reviewer"

    async def decide(self, request: loop.Input) -> loop.Decision:
        """Return the findings in the last file and request the next one; or report."""
        if not request.tool_results:
            return self.go_on("", "")
        path, _, text = request.tool_results[0].output.partition("\n")
        if path == DONE:
            found = found_in(request.history)
            return loop.Decision("\n".join([f"{len(found)} findings:", *found]))
        if request.tool_results[0].notice:  # a long file is cut: read up to its last whole part
            text = text[: text.rfind("\n\n\n")]
        said = [f"{path} line {line}: it {what}." for line, what in problems(text)]
        return self.go_on(path, "\n".join(said))

    def go_on(self, after: str, said: str) -> loop.Decision:
        """Request the next file."""
        return loop.Decision(said, [ToolCall("", "next_file", json.dumps({"after": after}))])


def problems(text: str) -> Iterator[tuple[int, str]]:
    """Yield each problem in a file: its line, and a description."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        yield error.lineno or 1, "is no Python"
        return
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > LONGEST:
                    yield node.lineno, f"has {length} lines in one function"
            case ast.ExceptHandler(type=None | ast.Name(id="Exception" | "BaseException")):
                yield node.lineno, "catches every exception"


class Screen:
    """Counts what happens, and prints the compactions."""

    files = compactions = largest = 0

    def show(self, _: object, event: events.Event) -> None:
        """Process one event."""
        match event:
            case events.TurnStart(context_tokens=size):
                self.largest = max(self.largest, size or 0)
            case events.ToolExecutionEnd(result=result):
                self.files += result.output != DONE
            case events.ContextCompactionEnd(summary=ContextSummary()):
                self.compactions += 1
                sizes = f"{event.tokens_before:,} -> {event.tokens_after:,} tokens"
                print(f"  {self.files} files read; compacted: {sizes}")
            case events.ContextCompactionEnd(error=error, declined=why):
                print(f"  {error or why}")


def make_reviewer(
    decider: loop.Decider, store: history.Rewriter, folder: Path, window: int
) -> loop.Runner:
    """Return the agent, with an eighth of the window for a digest and a quarter for one file."""
    counter = tokens.EstimateCounter()
    digest = compactors.Digest(max_tokens=max(1, window // 8), counter=counter)
    compactor = compactors.first_of(compactors.with_digest(Findings(), digest), digest)
    return loop.Runner(
        decider,
        tools.Registry(tool(Shelf(folder).next_file)),
        store=store,
        budget=budget.Manager(counter, compactor, budget.Policy(window, summary_share=0.5)),
        truncation=truncate.Options(mode=truncate.Mode.HEAD, max_bytes=max(1, window)),
        max_turns=10_000,
        system_prompt=PROMPT,
    )


async def review(given: argparse.Namespace, screen: Screen) -> None:
    """Review a folder, and print the report and some figures."""
    decider = providers.connect(given.model) if given.model else Offline()
    store = history.JsonlStore(given.session) if given.session else history.MemoryStore()
    print(f"code-reviewer, with {decider.name}, on {given.folder.name}")
    async with store:
        reviewer = make_reviewer(decider, store, given.folder, given.window)
        result = await reviewer.run("Review every file.")
        said = await store.full()
    print(result.reply)
    print(f"{screen.files} files, {screen.compactions} compactions, ", end="")
    print(f"at most {screen.largest:,} of {given.window:,} tokens in a request.")
    print(f"{len(said)} messages were said; {len(result.history)} are in the history now.")
    found, reported = found_in(said[:-1]), set(found_in(said[-1:]))
    seen = set(found_in(message for message in result.history[:-1] if not message.summary))
    print(
        f"{len(found)} findings: {len(seen)} were in messages that it still saw at the end, ",
        end="",
    )
    print(f"{len(reported - seen)} only in the summary, and {len(set(found) - reported)} are lost.")


def main() -> None:
    """Run the command line. A user's mistake results in one sentence, not a traceback."""
    parser = argparse.ArgumentParser(
        "code-reviewer", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", nargs="?", type=Path, default=PACKAGE, help="what to review")
    parser.add_argument("--model", help="PROVIDER:NAME, such as openai_chat:gpt-4.1")
    parser.add_argument("--window", type=int, default=16_000, help="in tokens")
    parser.add_argument("--session", help="a file that keeps the conversation")
    given = parser.parse_args()
    screen = Screen()
    for happening in events.signals.values():
        happening.connect(screen.show)
    try:
        asyncio.run(review(given, screen))
    except (AgenticError, ImportError, OSError) as error:
        sys.exit(f"code-reviewer: {error}")
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
