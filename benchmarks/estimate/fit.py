"""Fit the weights of `EstimateCounter` to o200k_base, and print them as they stand in the module.

    python benchmarks/estimate/fit.py [--check]

Least squares over the relative errors, every kind of text (`texts.py` names them) as heavy
as its row below says, a little ridge, nothing below zero. `--check` fails if the module has
others. What comes out depends on the versions of the packages it reads, a little.
"""

import sys

import numpy as np
import texts as material  # type: ignore[import-not-found]  # beside this script
from sources import TRANSLATED  # type: ignore[import-not-found]

from agentic.tokens import QuicktokCounter
from agentic.tokens._estimate import WEIGHTS, count_features

IMPORTANCE = {
    "agent session": 6.0,
    "JSON compact": 3.0,
    "real log": 0.35,
    "dense log": 0.6,
    "Unicode": 0.3,
    "rights": 0.3,
    **dict.fromkeys(TRANSLATED, 0.3),
}
"""How much a kind counts, by what stands before a colon in its name; 1 if not named here."""
GUESSES = {
    "starts": 1.0,
    "blanks": 1.0,
    "repeats": 0.8,
    "numbers": 2.0,
    "marks": 0.4,
    "k and z": 0.3,
    "accented Latin": 0.2,
    "ä": 0.3,
    "extended Latin": 1.0,
    "rare Latin": 1.5,
    "extended vowel": 1.0,
    "Vietnamese": 0.2,
    "combining": 0.5,
    "Greek": 0.2,
    "Cyrillic": 0.2,
    "Hebrew": 0.2,
    "Arabic": 0.2,
    "Devanagari": 0.4,
    "Indic": 0.4,
    "Thai": 0.4,
    "Burmese": 0.6,
    "Georgian": 0.4,
    "Ethiopic": 2.0,
    "Khmer": 1.0,
    "Jamo": 3.0,
    "rare": 3.0,
    "punctuation": 0.5,
    "ellipsis": 1.0,
    "symbol": 1.0,
    "drawing": 0.2,
    "drawing run": 1.0,
    "block": 0.3,
    "emoji": 2.0,
    "full width": 0.9,
    "CJK mark": 0.9,
    "Kana": 0.65,
    "Han": 0.75,
    "uncommon Han": 0.75,
    "Hangul": 0.5,
    "Hangul word": 0.6,
}
"""Where the ridge pulls to: what the texts hardly hold keeps its guess."""
RIDGE = 3e-4
PLACES = 2


def main() -> None:
    """Fit, print, compare."""
    weights = fit(material.texts(0))
    print("WEIGHTS: Mapping[str, float] = {")
    for name, weight in weights.items():
        print(f'    "{name}": {weight},')
    print("}")
    if "--check" in sys.argv and weights != dict(WEIGHTS):
        sys.exit("the module has other weights")


def fit(texts: dict[str, list[str]]) -> dict[str, float]:
    """Find the weights that make the estimates of these texts least wrong."""
    rows, sizes, heavy = [], [], []
    exact = QuicktokCounter("o200k_base").count
    for kind, some in texts.items():
        counted = [exact(text) for text in some]
        # A short message is mostly chance: its error weighs less than its share of the tokens.
        errors = [1 / max(size, 20) ** 1.5 for size in counted]
        share = importance(kind) / sum(e * s**2 for e, s in zip(errors, counted, strict=True))
        rows += [count_features(text) for text in some]
        sizes += counted
        heavy += [(error * share) ** 0.5 for error in errors]
    matrix = np.array([[row.get(name, 0) for name in GUESSES] for row in rows], float)
    scale = np.array(heavy)
    guesses = np.array(list(GUESSES.values()))
    found = solve(matrix * scale[:, None], np.array(sizes) * scale, guesses)
    return {name: round(float(weight), PLACES) for name, weight in zip(GUESSES, found, strict=True)}


def importance(kind: str) -> float:
    """Return how much the texts of a kind count together."""
    return IMPORTANCE.get(kind.partition(":")[0], 1.0)


def solve(matrix: np.ndarray, target: np.ndarray, guesses: np.ndarray) -> np.ndarray:
    """Solve the least squares, as departures from the guesses; what would be negative is left out.

    What is left out stays 0 while the rest is solved again, so that nothing is off by its absence.
    """
    weights = np.zeros(len(guesses))
    used = np.ones(len(guesses), bool)
    while True:
        bound = np.sqrt(RIDGE) * np.eye(used.sum())
        missing = np.append(target - matrix[:, used] @ guesses[used], np.zeros(used.sum()))
        found = np.linalg.lstsq(np.vstack([matrix[:, used], bound]), missing, rcond=None)[0]
        weights[used] = guesses[used] + found
        if (weights >= 0).all():
            return weights
        used &= weights > 0
        weights[~used] = 0.0


if __name__ == "__main__":
    main()
