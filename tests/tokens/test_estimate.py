import pickle
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.errors import ConfigError
from agentic.testing import check_counter
from agentic.tokens import EstimateCounter, QuicktokCounter
from agentic.tokens._estimate import count_features

TEXT = st.text(st.characters())
CODE = 'def parse(self, text: str) -> "Node":\n    return self.grammar[text.strip()]\n' * 40
PROSE = "The window is what a request may hold, and the reserve is kept for the answer.\n" * 40
JSON = '{"id": 4711, "name": "build-worker", "ok": true, "seconds": 12.5}\n' * 40
LOG = "2026-11-21 21:33:35,887 INFO [worker-7] job 00fa31c2 finished in 0.125s\n" * 40
# ruff: noqa: RUF001  Chinese has its own commas
CHINESE = "当上下文接近窗口的上限时，我们会把较早的消息压缩成一段摘要，并保留最近的对话。" * 40
TRADITIONAL = "當上下文接近視窗的上限時，我們會把較早的訊息壓縮成一段摘要，並保留最近的對話。" * 40
JAPANESE = "コンテキストが上限に近づくと、古いメッセージを要約にまとめ、最近の会話を残します。" * 40
KOREAN = "컨텍스트가 한도에 가까워지면 오래된 메시지를 요약하고 최근 대화는 그대로 남깁니다. " * 40
FINNISH = "Kun konteksti lähestyy rajaansa, vanhemmat viestit tiivistetään yhteenvedoksi. " * 40
HUNGARIAN = "Amikor a kontextus a határához közeledik, a régebbi üzeneteket összefoglaljuk. " * 40
INDONESIAN = "Ketika konteks mendekati batasnya, pesan lama diringkas menjadi satu ikhtisar. " * 40
VIETNAMESE = "Khi ngữ cảnh gần đến giới hạn, các tin nhắn cũ được nén thành một bản tóm tắt. " * 40
BURMESE = "စာများ များလာသောအခါ အဟောင်းများကို အကျဉ်းချုပ်ပြီး လတ်တလော စကားပြောကို သိမ်းထားသည်။ " * 40
ELLIPSES = "Reading the file… then the next one… wait… done… and so on…\n" * 40
TREE = """\
agentic
├── tokens
│   ├── _estimate.py
│   └── _features.py
└── errors.py
"""
TABLE = """\
┌────────┬──────┐
│ name   │ size │
├────────┼──────┤
│ parser │ 12.5 │
│ lexer  │  3.1 │
└────────┴──────┘
"""


def test_it_keeps_a_counters_promises() -> None:
    """Whatever the text, at any size."""
    check_counter(EstimateCounter, timeout_seconds=10)


@pytest.mark.parametrize(
    ("text", "percent"),
    [
        (CODE, 15),
        (PROSE, 15),
        (JSON, 15),
        (LOG, 15),
        (CHINESE, 15),
        (TRADITIONAL, 15),
        (JAPANESE, 15),
        (KOREAN, 15),
        (FINNISH, 25),
        (HUNGARIAN, 25),
        (INDONESIAN, 25),
        (VIETNAMESE, 15),
        (BURMESE, 15),
        (ELLIPSES, 10),
        (TREE, 15),
        (TABLE, 15),
    ],
)
def test_it_is_near_the_tokenizer(text: str, percent: int) -> None:
    """One sentence of each kind; kinds as a whole are nearer, see `benchmarks/`."""
    exact = QuicktokCounter("o200k_base").count(text)

    assert EstimateCounter().count(text) == pytest.approx(exact, rel=percent / 100)


@pytest.mark.parametrize("line", ["─" * 80, "━" * 60, "═" * 40, "─" * 120, "█" * 30 + "░" * 10])
def test_drawn_line_is_few_tokens(line: str) -> None:
    """A tokenizer has words for many of one character."""
    exact = QuicktokCounter("o200k_base").count(line)

    assert exact / 2 <= EstimateCounter().count(line) <= exact * 2


@pytest.mark.parametrize("counter", [EstimateCounter(), QuicktokCounter("o200k_base")])
def test_ellipsis_ends_line_for_nothing(counter: EstimateCounter | QuicktokCounter) -> None:
    """It is one token with the newline."""
    assert counter.count("the clipped line…\n" * 9) == counter.count("the clipped line\n" * 9)


def test_neighbouring_scripts_are_counted_apart() -> None:
    """Scripts that share a block of Unicode are counted apart."""
    counted = count_features("ქ က đ ă ț ä é α \u0301 … — ░ ─")

    apart = ["Georgian", "Burmese", "Vietnamese", "extended vowel", "rare Latin", "ä"]
    apart += ["accented Latin", "Greek", "combining", "ellipsis", "punctuation", "block", "drawing"]
    assert [counted[name] for name in apart] == [1] * len(apart)


def test_k_and_z_are_counted_anywhere() -> None:
    """In ASCII by their byte, elsewhere by name; what else has their low byte is not one."""
    assert count_features("kayak, zoo KZ")["k and z"] == 3
    assert count_features("kayak, zoo KZ é ū 乫")["k and z"] == 3


@given(text=TEXT, scale=st.floats(0.01, 100))
def test_one_token_to_four_a_byte(text: str, scale: float) -> None:
    """An empty one is none."""
    count = EstimateCounter(scale).count(text)

    size = len(text.encode("utf-8", "surrogatepass"))
    assert bool(text) <= count <= 1 + round(scale * 4 * size)


@given(first=TEXT, second=TEXT)
def test_parts_add_up_to_whole(first: str, second: str) -> None:
    """But for what is different at the seam."""
    count = EstimateCounter().count

    assert count(first) + count(second) == pytest.approx(count(first + second), abs=8)


def test_slices_are_added_up() -> None:
    """A text of many slices is as many times as large as its part, seams aside."""
    part = EstimateCounter().count(CODE)

    assert EstimateCounter().count(CODE * 50) == pytest.approx(50 * part, rel=0.001)


def test_astral_characters_hide_nothing_behind() -> None:
    """They are two units of UTF-16 each."""
    emoji = "\U0001f680" * 8_000

    assert count_features(emoji + "word " * 30)["starts"] == 30


def test_uncommon_characters_cost_more() -> None:
    """Traditional Chinese is dearer than simplified, to OpenAI's tokenizers."""
    count = EstimateCounter().count

    assert count(TRADITIONAL) > 1.1 * count(CHINESE)


def test_memory_is_bounded() -> None:
    """Counting four megabytes takes no copy of them."""
    text = CODE * 1_400
    EstimateCounter().count(text)
    tracemalloc.start()
    EstimateCounter().count(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(text) > 4_000_000
    assert peak < 1_000_000


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), True, "1", None])
def test_senseless_scale_is_refused(scale: Any) -> None:
    """The error says what is allowed."""
    with pytest.raises(ConfigError, match="a number above 0"):
        EstimateCounter(scale)


def test_counter_can_change_its_process() -> None:
    """It is a value."""
    assert pickle.loads(pickle.dumps(EstimateCounter(1.3))) == EstimateCounter(1.3)  # noqa: S301  our own
