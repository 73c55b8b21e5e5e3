"""The table of metrics as Prometheus sees it. What is a state (lanes, positions) is read when somebody scrapes."""

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from eunoe.runtime.metrics import METRICS, Kind, Metric

Reading = tuple[Metric, tuple[str, ...], float]
"""A gauge, its labels in the order of its table entry, its value now."""


class PrometheusMeter:
    """A `eunoe.runtime.metrics.Meter` with a registry of its own, so that two workers of one process do not collide."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        for metric in METRICS.values():
            if metric.kind is Kind.COUNTER:
                self._counters[metric.name] = Counter(
                    metric.name, _help(metric), metric.labels, registry=self._registry
                )
            elif metric.kind is Kind.HISTOGRAM:
                self._histograms[metric.name] = Histogram(
                    metric.name, _help(metric), buckets=metric.buckets, registry=self._registry
                )

    def add(self, metric: Metric, *labels: str, amount: float = 1) -> None:
        counter = self._counters[metric.name]
        (counter.labels(*labels) if labels else counter).inc(amount)

    def observe(self, metric: Metric, value: float) -> None:
        self._histograms[metric.name].observe(value)

    def read_from(self, source: Callable[[], Iterable[Reading]]) -> None:
        """Ask ``source`` for its gauges at every scrape."""
        self._registry.register(_Gauges(source))

    def page(self) -> str:
        """The text of ``/metrics``."""
        return generate_latest(self._registry).decode()


class _Gauges(Collector):
    def __init__(self, source: Callable[[], Iterable[Reading]]) -> None:
        self._source = source

    def collect(self) -> Iterable[Family]:
        families: dict[str, GaugeMetricFamily] = {}
        for metric, labels, value in self._source():
            family = families.setdefault(
                metric.name, GaugeMetricFamily(metric.name, _help(metric), labels=metric.labels)
            )
            family.add_metric(labels, value)
        return families.values()


def _help(metric: Metric) -> str:
    return f"{metric.counts}. {metric.act}"
