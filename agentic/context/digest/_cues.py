"""The words by which a statement is known: the only place where a language stands.

Add a language by adding lines; the words are in lower case. A cue counts at the beginning of a
word, so that `decid` stands for decide, decided and deciding; where a script writes no blanks,
it counts wherever it stands.
"""

from collections.abc import Iterator

from agentic.context.digest._cut import sentences

__all__ = ["statements"]

_DECISIONS = {
    "en": "decision, decid, agreed, choose, chose, going with, go with, went with, opt for, "
    "settled on, stick with, from now on, must not, convention",
    "de": "entscheid, entschied, beschlossen, vereinbart, ab jetzt",
    "es": "decisión, decidi, acordado, a partir de ahora",
    "fr": "décision, décid, convenu, désormais",
    "pt": "decisão, decidi, combinado, a partir de agora",
    "ru": "решение, решено, решили, договорились, отныне",
}
_FINDINGS = {
    "en": "root cause, culprit, turns out, turned out, the problem is, the issue is, the bug is, "
    "the cause is, found that, conclusion, conclud, no longer, the fix is",
    "de": "ursache, liegt daran, problem ist, fehler ist, stellt sich heraus",
    "es": "la causa, el problema es, el error es, resulta que",
    "fr": "la cause, le problème est, l'erreur est, il s'avère",
    "pt": "a causa, o problema é, o erro é, acontece que",
    "ru": "причина, проблема в, ошибка в, оказалось",
}
_DECISIONS_UNSPACED = "决定 決定 選択 选择 約定 约定 改用 从现在起 採用 方針 결정 선택 합의"
_FINDINGS_UNSPACED = "原因 问题是 問題是 問題は 发现 發現 判明 원인 문제는"


def _cues(spaced: dict[str, str], unspaced: str) -> tuple[str, ...]:
    begin = [f" {cue}" for cues in spaced.values() for cue in cues.split(", ")]
    return tuple(dict.fromkeys([*begin, *unspaced.split()]))


_DECIDES = _cues(_DECISIONS, _DECISIONS_UNSPACED)
_FINDS = _cues(_FINDINGS, _FINDINGS_UNSPACED)


def statements(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the sentences that decide something or say what was found, and whether they decide.

    >>> list(statements("The tests pass. We go with the new parser. 问题是缓存没有失效。"))
    [('We go with the new parser.', True), ('问题是缓存没有失效。', False)]
    """
    plain = _plain(text)
    # Few texts have any cue, and those few.
    decisions = [cue for cue in _DECIDES if cue in plain]
    findings = [cue for cue in _FINDS if cue in plain]
    if decisions or findings:
        for sentence in sentences(text):
            plain = _plain(sentence)
            if any(cue in plain for cue in decisions):
                yield sentence, True
            elif any(cue in plain for cue in findings):
                yield sentence, False


def _plain(text: str) -> str:
    """Return a text in which every word begins after a blank."""
    return f" {text.lower()}".replace("\n", " ").replace("*", " ").replace("(", " ")
