"""The figures of searching: latency by scope, recall of the cap, and whether other tenants are felt."""

import statistics
from collections.abc import Iterable, Sequence
from typing import Final

from eunoe.bench.figures import Bar, Cell, Figure, Findings, Grid
from eunoe.bench.search import DEFAULT, LIMIT, QUERY_WORDS, Round, Scope, Sizes

LIMITS_MS: Final = {1_000: 1.0, 10_000: 5.0, 100_000: 25.0}
_RECALL: Final = 0.95
_GROWTH: Final = 1.1
"""Above what two rounds of the same differ by here."""


def report(sizes: Sizes, scopes: Sequence[Scope]) -> Findings:
    return Findings(
        bench="search",
        sizes={
            "queries_a_round": sizes.queries,
            "rounds": sizes.rounds,
            "query_words": QUERY_WORDS,
            "limit": LIMIT,
            "words_a_record": sizes.words,
            "seed": sizes.seed,
        },
        figures=tuple(figure for scope in scopes for figure in _figures(scope)),
        bars=tuple(bar for scope in scopes for bar in _bars(scope)),
        grids=(_latencies(scopes), _caps(scopes), _loads(scopes)),
        notes=(
            "Words follow Zipf's law (rank r with probability ~ 1/r, 20,000 words); queries draw from the same "
            "distribution. Records have five to fifteen words. Each word is filed, and asked for, as itself and by its "
            "first letters: twenty postings a record, ten lists a query.",
            "A search is one MemoryReader.search, one after the other: analysing, Function calls, opening and checking "
            "the bodies. The percentile of each round is taken, the median of the rounds shown.",
            "Recall: a record that scores as high as the exact tenth counts, for many score the same; beside it the "
            "share of the same records.",
            "The default ranking is one pass, one Function call; all passes adds feedback and neighbours in two more.",
            "All tenants share one partition. Growth compares the same queries before and after the largest scope "
            "was loaded, by the mean time inside Redis.",
        ),
    )


def _figures(scope: Scope) -> Iterable[Figure]:
    for ranking, rounds in scope.rounds.items():
        at = f"{scope.records:,} records, {ranking}"
        for label, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
            yield Figure(name=f"{at}, {label}", unit="ms", values=tuple(each.at(share) for each in rounds))


def _bars(scope: Scope) -> Iterable[Bar]:
    """For the default ranking; what the others take stands in the figures."""
    at, rounds, crowded = f"{scope.records:,} records", scope.rounds[DEFAULT], scope.crowded[DEFAULT]
    if scope.records in LIMITS_MS:
        found = statistics.median(each.at(0.99) for each in rounds)
        yield Bar(name=f"{at}, p99", found=found, wanted=LIMITS_MS[scope.records], unit="ms", side="at most")
    compared = scope.compared.get(DEFAULT)
    yield Bar(
        name=f"{at}, recall@10 of capped against exact",
        found=None if compared is None else compared.recall,
        wanted=_RECALL,
        unit="",
        side="at least",
        note="an exact search would block a Redis that is not ours" if compared is None else "",
    )
    if crowded:
        growth = _typical(crowded) / _typical(rounds)
        yield Bar(
            name=f"{at}, growth with another tenant's data", found=growth, wanted=_GROWTH, unit="x", side="at most"
        )


def _inside(rounds: Sequence[Round], name: str) -> tuple[float, ...]:
    """A percentile inside Redis of each round, in ms; empty where it is not known."""
    if not all(each.calls.percentiles for each in rounds):
        return ()
    return tuple(each.calls.percentiles.get(name, 0.0) / 1_000 for each in rounds)


def _typical(rounds: Sequence[Round]) -> float:
    """What Redis needs on average, which stray load elsewhere touches least; in ms."""
    return statistics.median(each.calls.mean * each.calls.count / len(each.seconds) for each in rounds) / 1_000


def _latencies(scopes: Sequence[Scope]) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for scope in scopes:
        for title, measured in (("", scope.rounds), (", crowded", scope.crowded)):
            for ranking, rounds in measured.items():
                if rounds:
                    cells = [statistics.median(each.at(share) for each in rounds) for share in (0.5, 0.95, 0.99)]
                    inside = [statistics.median(_inside(rounds, name) or (0.0,)) or None for name in ("50", "99")]
                    row = (f"{scope.records:,}{title}", ranking, *cells, *inside, _typical(rounds))
                    rows.append(row)
    columns = (
        "records in scope", "ranking", "p50", "p95", "p99", "one call p50", "one call p99", "in Redis a search",
    )  # fmt: skip
    return Grid(title="Milliseconds a search, and a call of it inside Redis", columns=columns, rows=tuple(rows))


def _caps(scopes: Sequence[Scope]) -> Grid:
    columns = ("records in scope", "ranking", "queries", "recall@10", "same records", "capped", "exact p50 (ms)")
    rows = tuple(
        (f"{scope.records:,}", ranking, each.queries, each.recall, each.same, each.capped, each.exact_ms)
        for scope in scopes
        for ranking, each in scope.compared.items()
    )
    return Grid(title="Capped against exact (shares)", columns=columns, rows=rows)


def _loads(scopes: Sequence[Scope]) -> Grid:
    columns = ("records in scope", "bytes in Redis a record", "loaded, records/s")
    rows = tuple((f"{each.records:,}", round(each.bytes_a_record), round(each.loaded_a_second)) for each in scopes)
    return Grid(title="What a scope takes", columns=columns, rows=rows)
