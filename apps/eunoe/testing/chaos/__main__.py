"""`make chaos`: one seed, a report, and exit code 1 where anything was violated.

python -m eunoe.testing.chaos --seed 7 [--long] [--length SECONDS] [--folder FOLDER]
"""

import json
import logging
import sys
import time
from pathlib import Path

import click

from eunoe.testing.chaos.report import lines_of
from eunoe.testing.chaos.run import Plan, run

_SHORT_S = 110.0
_LONG_S = 3_300.0


@click.command()
@click.option("--seed", type=int, help="Of the schedule and the load.  [default: the time]")
@click.option("--long", "is_long", is_flag=True, help="Faults for about an hour.")
@click.option("--length", type=float, help="Seconds of faults, instead.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/chaos"), show_default=True)
def main(seed: int | None, is_long: bool, length: float | None, folder: Path) -> None:
    """Do to a stack of its own what production does, and check afterwards what must hold."""
    seed = int(time.time()) % 100_000 if seed is None else seed
    length = length if length is not None else _LONG_S if is_long else _SHORT_S
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what it retries is what is injected here
    began = time.monotonic()

    def tell(what: str) -> None:
        print(f"[{time.monotonic() - began:5.0f} s] {what}", file=sys.stderr, flush=True)

    plan = Plan(seed=seed, length=length, folder=folder / f"seed-{seed}")
    report = run(plan, tell)
    text = "\n".join(lines_of(report))
    (plan.folder / "report.txt").write_text(text + "\n")
    (plan.folder / "report.json").write_text(json.dumps(report.document, indent=1))
    print(text)
    sys.exit(1 if report.violations else 0)


if __name__ == "__main__":
    main()
