"""Map of the bank by difficulty: one square per question, the subset marked."""

from collections.abc import Sequence
from dataclasses import dataclass

from reports.drawing import CHART_WIDTH, Drawing, LegendItem, colour, inline_data, to_svg
from reports.section import DataTable, Section, make_table
from reports.wording import counted, decimal, hover, number, percent

MAX_SQUARES = 1200
MAX_QUESTION_ROWS = 600
N_BINS = 30
MAX_HEIGHT = 280
_INNER_WIDTH = CHART_WIDTH - 60
_GAP = 0.7

_IN_SUBSET = "series-1"
_OUTSIDE = "fill-2"
_UNANSWERED = "series-4"


@dataclass(frozen=True, slots=True, kw_only=True)
class DifficultyPoint:
    """One question on the difficulty map.

    Attributes
    ----------
    difficulty : float
        Rasch difficulty in logits.
    pass_rate : float or None
        Passes over trials in the calibration window; None without a response.
    n_responses : int
        Full runs of the window with a valid verdict on it.
    in_subsets : tuple of int
        Sizes k of the published subsets that contain it.
    """

    question_id: str
    difficulty: float
    pass_rate: float | None
    n_responses: int
    in_subsets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pile:
    low: float
    questions: list[DifficultyPoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class DifficultyMap:
    """The bank's questions by difficulty; none without a calibration."""

    questions: tuple[DifficultyPoint, ...] = ()

    def section(self) -> Section:
        """Draw the questions, those of the smallest published subset marked."""
        k = min((k for point in self.questions for k in point.in_subsets), default=None)
        subset = (
            f"Squares of the published k {k} subset stand at the foot of each pile. They should "
            "rise and fall with the piles: a pile without any is a difficulty the subset does not "
            "ask about."
            if k is not None
            else "No subset is published yet, so none is marked."
        )
        return Section(
            anchor="difficulty",
            heading="Difficulty map",
            drawing=difficulty_chart(self.questions, k),
            reading=(
                "Each square is a question, placed by its fitted difficulty: far left nearly every "
                "run passes it, far right nearly none does. Hover over a square to read its name.",
                subset,
            ),
            empty="No difficulties yet: they appear with the first calibration, which needs at "
            "least two full runs.",
            tables=(questions_table(self.questions),),
        )


def questions_table(questions: Sequence[DifficultyPoint]) -> DataTable:
    """List the bank's questions, hardest first."""
    return make_table(
        "Questions, hardest first",
        ("~Question", "#Difficulty", "#Pass rate", "#Responses", "~In subsets of k"),
        sorted(questions, key=lambda point: (-point.difficulty, point.question_id)),
        lambda point: (
            point.question_id,
            decimal(point.difficulty),
            percent(point.pass_rate),
            number(point.n_responses),
            ", ".join(str(k) for k in sorted(point.in_subsets)),
        ),
        cap=MAX_QUESTION_ROWS,
        cut_words="easier questions",
    )


def difficulty_chart(questions: Sequence[DifficultyPoint], k: int | None) -> Drawing | None:
    """Draw the questions, those of the subset of size `k` marked; None without a question."""
    if not questions:
        return None
    piles, width = _piles(questions, k)
    legend = [
        LegendItem(label="other questions", swatch="square", colour=_OUTSIDE),
    ]
    if k is not None:
        legend.insert(
            0, LegendItem(label=f"in the k {k} subset", swatch="square", colour=_IN_SUBSET)
        )
    if any(point.n_responses == 0 for point in questions):
        legend.append(LegendItem(label="never answered", swatch="square", colour=_UNANSWERED))
    stride = -(-len(questions) // MAX_SQUARES)
    note = f"Each square stands for up to {number(stride)} questions." if stride > 1 else ""
    return Drawing(svg=_draw(piles, width, k, stride), legend=tuple(legend), note=note)


def _piles(questions: Sequence[DifficultyPoint], k: int | None) -> tuple[list[_Pile], float]:
    """Questions in equal steps of difficulty, members of the subset at the bottom."""
    low = min(point.difficulty for point in questions)
    high = max(point.difficulty for point in questions)
    width = max((high - low) / N_BINS, 0.1)
    piles = [_Pile(low=low + position * width, questions=[]) for position in range(N_BINS)]
    for point in questions:
        position = min(int((point.difficulty - low) / width), N_BINS - 1)
        piles[position].questions.append(point)
    for pile in piles:
        pile.questions.sort(
            key=lambda point: (_rank(point, k), point.difficulty, point.question_id)
        )
    return piles, width


def _rank(point: DifficultyPoint, k: int | None) -> int:
    if k in point.in_subsets:
        return 0
    return 1 if point.n_responses else 2


def _columns(tallest: int, stride: int) -> tuple[int, float]:
    """Squares side by side in a pile, and their pitch in pixels, so the tallest pile fits."""
    for columns in range(2, 40):
        pitch = _INNER_WIDTH / N_BINS / (columns + _GAP)
        if -(-tallest // (columns * stride)) * pitch <= MAX_HEIGHT:
            break
    return columns, pitch


def _draw(piles: Sequence[_Pile], width: float, k: int | None, stride: int) -> str:
    import altair as alt

    tallest = max(len(pile.questions) for pile in piles)
    columns, pitch = _columns(tallest, stride)
    n_rows = -(-tallest // (columns * stride))
    height = max(60.0, n_rows * pitch)
    per_row = columns * stride
    rows = [row for pile in piles for row in _squares(pile, width, k, columns, stride)]
    low, high = piles[0].low, piles[0].low + N_BINS * width
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[low, high], nice=False),
        axis=alt.Axis(grid=False, tickCount=10),
        title="difficulty in logits: easy on the left, hard on the right",
    )
    y = alt.Y(
        "y:Q",
        scale=alt.Scale(domain=[0, height / pitch * per_row], nice=False),
        axis=alt.Axis(tickCount=4, format="d"),
        title="questions",
    )
    chart = (
        alt.Chart(inline_data(rows))
        .mark_square(size=max(1.0, pitch - 1) ** 2, opacity=1)
        .encode(x=x, y=y, fill=alt.Fill("colour:N", scale=None), description="text:N")
        .properties(width=_INNER_WIDTH, height=height)
    )
    n_questions = sum(len(pile.questions) for pile in piles)
    summary = f"{counted(n_questions, 'question')} by difficulty. The table below lists them."
    return to_svg(chart, name="difficulty-chart", title="Difficulty map", summary=summary)


def _squares(
    pile: _Pile, width: float, k: int | None, columns: int, stride: int
) -> list[dict[str, object]]:
    """One row per square; with a stride, the first of each group of questions speaks for it."""
    shown = pile.questions[::stride]
    names = (_IN_SUBSET, _OUTSIDE, _UNANSWERED)
    return [
        {
            "x": pile.low + width * (position % columns + 0.5 + _GAP / 2) / (columns + _GAP),
            "y": (position // columns + 0.5) * columns * stride,
            "colour": colour(names[_rank(point, k)]),
            "text": _text(point),
        }
        for position, point in enumerate(shown)
    ]


def _text(point: DifficultyPoint) -> str:
    sizes = ", ".join(f"k {k}" for k in sorted(point.in_subsets))
    return hover(
        f"{point.question_id}: difficulty {decimal(point.difficulty)}, "
        f"pass rate {percent(point.pass_rate)}, {counted(point.n_responses, 'response')}"
        + (f"; in {sizes}" if sizes else "")
    )
