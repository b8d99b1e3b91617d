"""The words by which a statement is known: the only place where a language stands.

Add a language by adding a line; the words are in lower case. Where a script writes no blanks, a
word counts wherever it stands.
"""

import re
from collections.abc import Iterable

__all__ = ["decides", "finds", "may_tell"]

_DECISIONS = {
    "en": "decision; decisions; decide; decided; agreed; choose; chose; chosen; going with; go with; "
    "went with; opt for; opted for; settled on; stick with; from now on; must not; convention; "
    "instead of; prefer; keep; never",
    "de": "entscheidung; entschieden; beschlossen; vereinbart; ab jetzt; stattdessen",
    "es": "decisión; decidido; decidimos; acordado; a partir de ahora; en lugar de",
    "fr": "décision; décidé; convenu; désormais; au lieu de",
    "pt": "decisão; decidido; decidimos; combinado; a partir de agora; em vez de",
    "ru": "решение; решено; решили; договорились; отныне",
    "zh": "决定; 決定; 选择; 約定; 约定; 改用; 从现在起",
    "ja": "決定; 決め; 採用; 方針",
    "ko": "결정; 선택; 합의",
}
_FINDINGS = {
    "en": "root cause; culprit; turns out; turned out; the problem is; the issue is; the bug is; "
    "the cause is; found the; found that; because; this means; conclusion; concluded; no longer; "
    "important; note that; fixed; works now; the fix",
    "de": "ursache; liegt daran; problem ist; fehler ist; stellt sich heraus; weil; behoben",
    "es": "la causa; el problema es; el error es; resulta que; porque; corregido",
    "fr": "la cause; le problème est; l'erreur est; il s'avère; parce que; corrigé",
    "pt": "a causa; o problema é; o erro é; acontece que; porque; corrigido",
    "ru": "причина; проблема в; ошибка в; оказалось; потому что; исправлено",
    "zh": "原因; 问题是; 問題是; 发现; 發現; 因为; 因為; 修复",
    "ja": "原因; 問題は; 判明; ため; 修正",
    "ko": "원인; 문제는; 때문; 수정",
}
_UNSPACED = {"zh", "ja", "ko"}


def _pattern(tables: Iterable[dict[str, str]]) -> re.Pattern[str]:
    cues: list[str] = []
    for table in tables:
        for language, words in table.items():
            edge = "" if language in _UNSPACED else r"\b"
            cues += [f"{edge}{re.escape(word.strip())}{edge}" for word in words.split(";")]
    return re.compile("|".join(cues))


_DECIDES, _FINDS = _pattern([_DECISIONS]), _pattern([_FINDINGS])
_EITHER = _pattern([_DECISIONS, _FINDINGS])


def decides(sentence: str) -> bool:
    """Return whether a sentence says what was decided.

    >>> decides("We go with the new parser."), decides("The tests pass.")
    (True, False)
    """
    return bool(_DECIDES.search(sentence.lower()))


def finds(sentence: str) -> bool:
    """Return whether a sentence says what was found.

    >>> finds("问题是缓存没有失效。")
    True
    """
    return bool(_FINDS.search(sentence.lower()))


def may_tell(text: str) -> bool:
    """Return whether any sentence of a text may decide or find something."""
    return bool(_EITHER.search(text.lower()))
