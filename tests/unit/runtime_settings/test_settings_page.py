"""docs/settings.md lists every setting, and nothing else."""

import re
from pathlib import Path

from eunoe.runtime.settings import PARSERS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "settings.md"


def test_the_page_lists_every_setting() -> None:
    rows = re.findall(r"^\| (`[^|]*) \|", PAGE.read_text(), re.M)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(PARSERS)
