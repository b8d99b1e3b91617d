"""Cue words: the one place where the digest depends on the language that people write in.

A cue is in lower case and matches at the start of a word, so that `decid` matches decide, decided
and deciding; in scripts without blanks it matches anywhere. To add a language, add it to each table
that it has words for.

The words for rules are the keywords of RFC 2119 (https://www.rfc-editor.org/rfc/rfc2119, 2026-11)
and what the usage notes of these entries give for orders and prohibitions, in each language:
https://en.wiktionary.org/wiki/must, /müssen, /deber, /devoir, /dever, /должен, /必須, /必须, /금지
(2026-11). The words for reasons are the causal conjunctions in
https://en.wiktionary.org/wiki/because#Translations (2026-11). The words for decisions and findings
are those of the recorded sessions and their translations in the same dictionary.
"""

import re
from collections.abc import Iterable, Mapping

import attrs

__all__ = [
    "ANALYSIS",
    "CHANGES",
    "COMMON",
    "DAYS",
    "DECISIONS",
    "ENDINGS",
    "LEAD_INS",
    "MONTHS",
    "REASONS",
    "RULES",
    "SECTIONS",
    "Cues",
    "cue_pattern",
    "cues_in",
]

DECISIONS: Mapping[str, str] = {
    "en": "decision, decid, agreed, choose, chose, going with, go with, went with, settled on, "
    "from now on, must not, root cause, culprit, turns out, turned out, problem is, issue is, "
    "bug is, cause is, found that, conclu, no longer, fix is",
    "de": "entscheid, entschied, beschlossen, vereinbart, ab jetzt, ursache, liegt daran, "
    "problem ist, fehler ist, stellt sich heraus",
    "es": "decisión, decidi, acordado, a partir de ahora, causa, problema es, resulta que",
    "fr": "décision, décid, convenu, désormais, la cause, problème est, erreur est, il s'avère",
    "pt": "decisão, combinado, a partir de agora, a causa, o problema é, o erro é, acontece que",
    "ru": "решение, решено, решили, договорились, отныне, причина, проблема в, ошибка в, оказалось",
    "zh": "决定, 決定, 选择, 选用, 约定, 改用, 从现在起, 採用, 原因, 问题是, 問題是, 发现, 發現",
    "ja": "決定, 決め, 選択, 方針, 原因, 問題は, 判明, 採用",
    "ko": "결정, 선택, 합의, 원인, 문제는",
}
"""In statements of the assistant: what was decided or found out."""
RULES: Mapping[str, str] = {
    "en": "must, never, always, don't, do not, dont, shall, should, only, make sure, ensure, "
    "avoid, required, forbidden, not allowed, instead of, rather than, from now on, no longer, "
    "prefer, without, remember to, have to, has to, need to, needs to",
    "de": "muss, müssen, darf nicht, dürfen nicht, niemals, nie, immer, nur, soll, bitte nicht, "
    "vermeide, stattdessen, statt, ab jetzt, ohne, verboten, kein",
    "es": "debe, nunca, jamás, siempre, no uses, no use, solo, sólo, evita, en lugar de, "
    "en vez de, a partir de ahora, sin, prohibido, hay que, asegúrate",
    "fr": "doit, doivent, devez, jamais, toujours, ne pas, n'utilise, seulement, uniquement, "
    "évite, au lieu de, plutôt que, désormais, sans, interdit, il faut, assure",
    "pt": "deve, nunca, jamais, sempre, não use, somente, apenas, evite, em vez de, "
    "a partir de agora, sem, proibido, certifique",
    "ru": "должен, должна, должны, никогда, всегда, нельзя, только, избегай, вместо, отныне, без, "
    "запрещ, обязательно, не надо",
    "zh": "必须, 必須, 不要, 不得, 不能, 不可, 禁止, 务必, 務必, 总是, 總是, "
    "始终, 只能, 只用, 避免, "
    "从不, 永远, 请勿, 請勿, 从现在起",
    "ja": "必ず, 必須, 禁止, しないで, てください, べき, 決して, 常に, のみ, だけ, "
    "避け, 以外, ではなく, 今後は",
    "ko": "반드시, 금지, 하지 마, 절대, 항상, 만 사용, 대신, 피해, 앞으로는",
}
"""In requests: what holds for all that follows."""
REASONS: Mapping[str, str] = {
    "en": "because, since, so that, instead of, rather than, therefore, due to, in order to",
    "de": "weil, denn, damit, da, deshalb, daher, anstatt, wegen",
    "es": "porque, ya que, para que, por eso, en lugar de, debido a",
    "fr": "parce que, puisque, car, afin, donc, au lieu de, à cause de",
    "pt": "porque, já que, para que, por isso, em vez de, devido a",
    "ru": "потому что, так как, чтобы, поэтому, вместо, из-за",
    "zh": "因为, 因為, 所以, 由于, 由於, 因此, 为了, 為了, 而不是",
    "ja": "ため, ので, から, 代わりに, したがって",
    "ko": "때문에, 그래서, 위해, 대신",
}
"""In statements of the assistant: why something is as it is."""
CHANGES: Mapping[str, str] = {
    "en": "update, change, now, moved, from now on, no longer, instead, rather, switch, rename, "
    "replace, rotat, revis, correct, new, raise, lower, increase, decrease, extend, postpone, "
    "rebas, checked out, check out",
    "de": "jetzt, ab jetzt, geändert, ändert, neu, statt, stattdessen, nicht mehr, verschoben, "
    "ersetzt, umbenannt, korrektur, doch",
    "es": "ahora, cambi, actualiz, nuevo, nueva, en vez de, en lugar de, ya no, reemplaz, correcc",
    "fr": "désormais, maintenant, chang, nouveau, nouvelle, plutôt, au lieu de, ne plus, remplac, "
    "correct, reporté",
    "pt": "agora, mudou, mudança, atualiz, novo, nova, em vez de, não mais, substitu, correção",
    "ru": "теперь, отныне, измен, новый, новая, вместо, больше не, перенес, замен, исправ",
    "zh": "现在, 改为, 改成, 改用, 更新, 变更, 變更, 新的, 不再, 而是, 调整, 推迟, 替换",
    "ja": "変更, 今後, 更新, 新しい, 代わりに, ではなく, もう, に変え, 差し替え, 訂正",
    "ko": "변경, 이제, 앞으로, 새로운, 대신, 더 이상, 교체, 수정",
}
"""In statements: that what was said before holds no longer. Of Git, the commands that leave a
branch for another: https://git-scm.com/docs (2026-11)."""
ENDINGS: Mapping[str, str] = {
    "en": "ers, er, ing, ed, es, s",
    "de": "ern, er, en, es",
    "es": "as, os",
    "fr": "es",
}
"""What may follow the stem of a word: https://snowballstem.org/algorithms (2026-11)."""
COMMON: Mapping[str, str] = {
    "en": "all, and, any, are, before, can, don't, ever, for, from, had, has, have, into, its, "
    "keep, longer, must, never, new, not, now, only, onto, our, over, per, please, should, than, "
    "that, the, this, total, under, use, used, user, users, uses, using, want, wants, was, were, "
    "will, with, without, your",
    "de": "alle, auch, auf, aus, bei, bitte, das, dass, dem, den, der, des, die, ein, eine, für, "
    "hat, immer, ist, mit, nicht, nie, nur, oder, sein, sind, soll, und, unter, von, war, wird, "
    "zum, zur",
    "es": "con, del, debe, esta, este, las, los, más, nunca, para, por, que, ser, siempre, sin, "
    "solo, son, una, usa, usar",
    "fr": "avec, dans, des, doit, est, être, jamais, les, mais, pas, pour, que, sans, ser, sont, "
    "sur, toujours, une, utilise",
}
"""The most common words, which say nothing of what a statement is about:
https://snowballstem.org/algorithms (stop words, 2026-11), and words of orders."""
MONTHS: Mapping[str, str] = {
    "en": "jan, feb, mar, apr, may, jun, jul, aug, sep, oct, nov, dec",
    "de": "jän, mär, mai, okt, dez",
    "es": "ene, abr, ago, dic",
    "fr": "fév, avr, juin, juil, aoû, déc",
}
"""How the months begin. Languages have most of these in common."""
DAYS: Mapping[str, str] = {
    "en": "monday, tuesday, wednesday, thursday, friday, saturday, sunday",
    "de": "montag, dienstag, mittwoch, donnerstag, freitag, samstag, sonntag",
    "es": "lunes, martes, miércoles, jueves, viernes, sábado, domingo",
    "fr": "lundi, mardi, mercredi, jeudi, vendredi, samedi, dimanche",
}
LEAD_INS: Mapping[str, str] = {
    "en": "let me, let's, let us, i'll, i will, i'm going to, i am going to, i need to, i should",
    "de": "lass mich, ich werde, ich schaue, schauen wir, jetzt",
    "es": "déjame, voy a, vamos a, ahora",
    "fr": "laisse-moi, laissez-moi, je vais, voyons, maintenant",
    "pt": "deixe-me, vou, vamos, agora",
    "ru": "давайте, сейчас, теперь",
    "zh": "让我, 讓我, 我来, 我將, 我将, 接下来, 现在",
    "ja": "では、, 次に, これから, それでは",
    "ko": "이제, 먼저, 다음으로",
}
"""At the start of a sentence, after an interjection at most: what announces the next call."""

SECTIONS: tuple[Mapping[str, str], ...] = (
    {
        "en": "pending, open, to do, todo, to-do, next, remaining, outstanding, unfinished, "
        "blocked",
        "de": "offen, ausstehend, nächste, verbleibend, zu tun",
        "es": "pendiente, próximo, siguiente, por hacer",
        "fr": "en attente, à faire, prochaine, restant, suite",
        "zh": "待办, 待辦, 下一步, 未完成, 剩余",
        "ja": "未完了, 残り, 次の, やること, 保留",
    },
    {
        "en": "current, state, status, progress, in flight, where things",
        "de": "aktuell, stand, status, zustand, fortschritt",
        "es": "actual, estado, progreso",
        "fr": "actuel, état, en cours, avancement",
        "zh": "当前, 當前, 现状, 状态, 进度",
        "ja": "現在, 状態, 状況, 進捗",
    },
    {
        "en": "rule, constraint, instruction, requirement, preference, feedback, decision, user "
        "messages, must",
        "de": "regel, vorgabe, anforderung, anweisung, entscheidung",
        "es": "regla, restricción, requisito, instrucciones, decisión",
        "fr": "règle, contrainte, consigne, exigence, décision",
        "zh": "规则, 規則, 约束, 要求, 指令, 决定",
        "ja": "ルール, 制約, 要件, 指示, 決定",
    },
)
"""In headings of summaries: open work, the current state, and rules, most needed first."""
_WITHOUT_BLANKS = "\u2e80"
"""The first letter of the scripts without blanks."""
ANALYSIS = "analysis", "analyse", "análisis", "分析"
"""Headings of the considerations that some programs keep before their summary."""


def cues_in(tables: Mapping[str, str]) -> list[str]:
    """Return the cues of all languages."""
    return [cue for cues in tables.values() for cue in cues.split(", ")]


@attrs.frozen
class Cues:
    """Searches texts in lower case for cues, much faster than a pattern of so many words.

    >>> cues = Cues.of({"en": "must", "zh": "必须"})
    >>> [cues.occur_in(text) for text in ("you must", "mustard: utmost", "utmost", "你必须")]
    [True, True, False, True]
    """

    _cues: tuple[str, ...]

    @classmethod
    def of(cls, tables: Mapping[str, str]) -> "Cues":
        """Return the cues of all languages."""
        return cls(tuple(cues_in(tables)))

    def within(self, *texts: str) -> "Cues":
        """Return the cues whose letters stand in some texts, to search their sentences with."""
        # Apart: in a text with a single arrow or emoji, a search takes several times as long.
        low = "\n".join([text for text in texts if text.isascii()]).lower()
        others = "\n".join([text for text in texts if not text.isascii()]).lower()
        return Cues(
            tuple([cue for cue in self._cues if (cue.isascii() and cue in low) or cue in others])
        )

    def __bool__(self) -> bool:
        return bool(self._cues)

    def occur_in(self, low: str) -> bool:
        """Return whether one of them occurs, at the start of a word where blanks part words."""
        return any(_begins_word(cue, low) for cue in self._cues if cue in low)

    def begin(self, low: str, at: int) -> bool:
        """Return whether a text goes on with one of them from a position on."""
        return low.startswith(self._cues, at)


def _begins_word(cue: str, low: str) -> bool:
    at = low.find(cue)
    while at > 0 and cue[0] < _WITHOUT_BLANKS and (low[at - 1].isalnum() or low[at - 1] == "_"):
        at = low.find(cue, at + 1)
    return at >= 0


def cue_pattern(cues: Iterable[str]) -> re.Pattern[str]:
    r"""Return a pattern that finds any of the cues, where blanks part words at the start of one.

    >>> find = cue_pattern(["must", "必须"])
    >>> [bool(find.search(text)) for text in ("You MUST", "mustard: utmost", "utmost", "你必须")]
    [True, True, False, True]
    """
    by_length = sorted(cues, key=lambda cue: -len(cue))
    western = "|".join(re.escape(cue) for cue in by_length if cue[0] < _WITHOUT_BLANKS)
    others = "|".join(re.escape(cue) for cue in by_length if cue[0] >= _WITHOUT_BLANKS)
    return re.compile(rf"\b(?:{western})" + (f"|{others}" if others else ""), re.IGNORECASE)
