"""The same document as a table for people and as Markdown for the docs."""

from rich.console import Console

from eunoe.bench.figures import Bar, Figure, Findings, Grid
from eunoe.bench.showing import for_people, number, render

FINDINGS = Findings(
    bench="project",
    sizes={"records": 8_000, "batch": 500},
    figures=(Figure(name="projecting", unit="records/s", values=(5_000.0, 4_000.0, 6_000.0)),),
    bars=(
        Bar(name="ratio", found=1.5, wanted=2.0, unit="", side="at least"),
        Bar(name="call", found=None, wanted=2.0, unit="ms", side="at most", note="not ours"),
    ),
    grids=(Grid(title="By size", columns=("records", "a | b"), rows=((1_000, 0.25), ("all", None))),),
    notes=("Read this.",),
)
DOCUMENT = FINDINGS.document({"cores": 2})


def test_numbers_keep_four_digits_that_count() -> None:
    shown = [number(each) for each in (1234567, 12345.6, 0.123456, 12.3456, 0, None, "x", 0.0000012)]
    assert shown == ["1,234,567", "12,346", "0.1235", "12.35", "0", "not measured", "x", "1.2e-06"]


def test_markdown_holds_bars_figures_grids_notes_and_the_machine() -> None:
    text = render([DOCUMENT])
    assert "### project" in text
    assert "| ratio | 1.5 | at least 2  | NO |" in text
    assert "| call | not measured | at most 2 ms | not measured (not ours) |" in text
    assert "| projecting | 5,000 | 4,000 … 6,000 | records/s | 3 |" in text
    assert "| records | a \\| b |" in text
    assert "- Read this." in text
    assert "Machine: cores 2." in text


def test_every_row_of_markdown_has_as_many_cells_as_its_head() -> None:
    widths = [line.replace("\\|", "").count("|") for line in render([DOCUMENT, DOCUMENT]).splitlines() if "|" in line]
    assert widths.count(3) == 8
    assert set(widths) == {3, 5, 6}


def test_people_see_the_same() -> None:
    console = Console(width=140, record=True)
    with console.capture() as captured:
        console.print(for_people(DOCUMENT))
    shown = captured.get()
    for part in ("ratio", "NO", "not measured (not ours)", "5,000", "By size", "Read this.", "cores 2"):
        assert part in shown
