"""A copy editor that works through a book longer than its window, and keeps to its own decisions.

Run `python examples/copy-editor`: it writes a book of 20 chapters into a temporary folder and edits
it there. Pass a folder of `.txt` files to edit those instead, in place. `--window 8000` sets a
larger window; `--session book.jsonl` keeps the conversation and resumes it the next time.
`--model anthropic:claude-sonnet-4-5` uses that model; without one, an offline editor knows a few
words that can be spelled in several ways.

There is one request per chapter, all in one conversation. The first spelling that the editor sees
applies to the whole book. The editor states it once. Long after that message has left the window,
the digest that replaced it still contains the decision.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from agentic import events, history, loop, providers, tokens, tools
from agentic.context import budget, compactors
from agentic.errors import AgenticError
from agentic.messages import ContextSummary, Message, ToolCall
from agentic.tools import tool

PROMPT = """\
You are a copy editor. Read the chapter, then make its spelling agree with the rest of the book:
where a word can be spelled in several ways, the first that you met is the book's. Say each such
decision once, as `I decided: this book writes lighthouse, grey.`; correct every other spelling."""

SPELLINGS = (
    ("lighthouse", "light-house", "light house"),
    ("coastguard", "coast-guard", "coast guard"),
    ("grey", "gray"),
    ("half past", "half-past"),
    ("whisky", "whiskey"),
    ("towards", "toward"),
    ("storm lantern", "storm-lantern"),
)
STORY = (
    "The {0} stood at the end of the mole, and nobody had painted it since the year of the flood.",
    "Ada came down the steps at {3} six, with her collar up and the letter in her glove.",
    "The {1} had seen the boat, or said so; what he wrote into his book was another matter.",
    "Everything was {2} that morning: the water, the slates, the gulls, the face of her brother.",
    "They walked {5} the quay without a word, as people walk who have agreed on nothing.",
    "He kept a bottle of {4} behind the charts, and a {6} that had never been lit.",
    "By {3} nine the wind had turned, and the {1} hoisted what he always hoisted.",
    "She counted the windows of the {0}: eleven, where she remembered twelve.",
    "A {2} cat sat on the nets and looked {5} the sea, as if it had lent it money.",
    "When the {6} went out they sat in the dark, and the {4} went round twice.",
    "Nobody asked about the letter, which is how she knew that all of them had read it.",
    "At {3} eleven somebody knocked, three times and then once, and the {6} was lit again.",
)
DECISION = re.compile(r"this book writes ([^.\n]+)\.")


def write_book(folder: Path) -> None:
    """Write 20 chapters in which the same words are spelled in different ways."""
    for number in range(1, 21):
        lines = STORY[: number + 2]
        told = [
            line.format(*(forms[(number + at) % len(forms)] for forms in SPELLINGS))
            for at, line in enumerate([*lines[number % 3 :], *lines[: number % 3]])
        ]
        text = f"Chapter {number}\n\n{' '.join(told[:5])}\n\n{' '.join(told[5:])}\n"
        (folder / f"chapter-{number:02}.txt").write_text(text)


class Desk:
    """The two tools, which work on the files of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, path: str) -> str:
        """Read a chapter."""
        return (self.folder / Path(path).name).read_text()

    def correct(self, path: str, spellings: dict[str, str]) -> str:
        """Replace words in a chapter, wherever they stand: each key by its value."""
        text = (self.folder / Path(path).name).read_text()
        if absent := [word for word in spellings if not found(word, text)]:
            raise ValueError(f"{', '.join(absent)} does not stand in {path}")
        for old, new in spellings.items():
            text = new.join(re.split(rf"\b{re.escape(old)}\b", text))
        (self.folder / Path(path).name).write_text(text)
        return f"corrected {', '.join(spellings)}"


def found(word: str, text: str) -> re.Match[str] | None:
    """Find the first occurrence of a word."""
    return re.search(rf"\b{re.escape(word)}\b", text)


def decided(messages: Iterable[Message]) -> list[str]:
    """Return the spellings that were decided on, according to the messages and summaries."""
    said = (message.content for message in messages if message.role != "user")
    words = (word for text in said for each in DECISION.findall(text) for word in each.split(", "))
    return list(dict.fromkeys(words))


class Offline:
    """Edits without a model. It has no memory: all it knows is in the view that it receives."""

    name = "an offline editor"

    async def decide(self, request: loop.Input) -> loop.Decision:
        """Read the chapter, then correct it, then report."""
        path = request.user_message.removeprefix("Edit ").removesuffix(".")
        if request.turn == 1:
            return loop.Decision("", [ToolCall("", "read", json.dumps({"path": path}))])
        result = request.tool_results[0]
        if result.error or request.tool_calls[0].name == "correct":
            return loop.Decision(f"{path}: {result.text}.")
        return self.correct(path, result.output, decided(request.history))

    def correct(self, path: str, text: str, glossary: list[str]) -> loop.Decision:
        """Decide on spellings that are still open, and correct words with another spelling."""
        news: list[str] = []
        spellings: dict[str, str] = {}
        for forms in SPELLINGS:
            places = sorted((at.start(), form) for form in forms if (at := found(form, text)))
            met = [form for _, form in places]
            ours = next((form for form in [*glossary, *met] if form in forms), "")
            news += [ours] if met and ours not in glossary else []
            spellings |= {form: ours for form in met if form != ours}
        said = f"I decided: this book writes {', '.join(news)}." if news else ""
        if not spellings:
            return loop.Decision(f"{path} needs no correction. {said}")
        arguments = json.dumps({"path": path, "spellings": spellings})
        return loop.Decision(said, [ToolCall("", "correct", arguments)])


class Screen:
    """Prints what happens, and counts it."""

    corrections = compactions = largest = 0

    def show(self, _: object, event: events.Event) -> None:
        """Process one event."""
        match event:
            case events.TurnStart(context_tokens=size):
                self.largest = max(self.largest, size or 0)
            case events.ToolExecutionEnd(call=called, result=result):
                self.corrections += called.name == "correct" and not result.error
            case events.MessageEnd(message=message) if message.role == "assistant":
                print(message.content, end="\n" if message.content else "")
            case events.ContextCompactionEnd(summary=ContextSummary()):
                self.compactions += 1
                sizes = f"{event.tokens_before:,} -> {event.tokens_after:,} tokens"
                print(f"  compacted: {sizes}")
            case events.ContextCompactionEnd(error=error, declined=why):
                print(f"  {error or why}")


def make_editor(
    decider: loop.Decider, store: history.Rewriter, folder: Path, window: int
) -> loop.Runner:
    """Return the agent, with a quarter of the window for the digest."""
    desk, counter = Desk(folder), tokens.EstimateCounter()
    digest = compactors.Digest(max_tokens=max(1, window // 4), counter=counter)
    return loop.Runner(
        decider,
        tools.Registry(tool(desk.read), tool(desk.correct)),
        store=store,
        budget=budget.Manager(counter, digest, budget.Policy(window, summary_share=0.5)),
        system_prompt=PROMPT,
    )


async def edit(folder: Path, given: argparse.Namespace, screen: Screen) -> None:
    """Edit every chapter, and print some figures."""
    decider = providers.connect(given.model) if given.model else Offline()
    store = history.JsonlStore(given.session) if given.session else history.MemoryStore()
    chapters = sorted(path.name for path in folder.glob("*.txt"))
    print(f"copy-editor, with {decider.name}, on {len(chapters)} chapters in {folder}")
    async with store:
        editor = make_editor(decider, store, folder, given.window)
        for name in chapters:
            await editor.run(f"Edit {name}.")
        said, view = len(await store.full()), await store.load()
    print(f"The book writes {', '.join(decided(view))}.")
    print(f"{screen.corrections} chapters corrected, {screen.compactions} compactions, ", end="")
    print(f"at most {screen.largest:,} of {given.window:,} tokens in a request.")
    print(f"{said} messages were said; {len(view)} are in the history now.")


def main() -> None:
    """Run the command line. A user's mistake results in one sentence, not a traceback."""
    parser = argparse.ArgumentParser("copy-editor", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="of .txt files, edited in place")
    parser.add_argument("--model", help="PROVIDER:NAME, such as openai_chat:gpt-4.1")
    parser.add_argument("--window", type=int, default=3_000, help="in tokens")
    parser.add_argument("--session", help="a file that keeps the conversation")
    given = parser.parse_args()
    screen = Screen()
    for happening in events.signals.values():
        happening.connect(screen.show)
    folder = given.folder or Path(tempfile.mkdtemp(prefix="copy-editor-"))
    try:
        if given.folder is None:
            write_book(folder)
        asyncio.run(edit(folder, given, screen))
    except (AgenticError, ImportError, OSError) as error:
        sys.exit(f"copy-editor: {error}")
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
