"""The table of metrics is what Prometheus is shown."""

from eunoe.runtime.metrics import BEHIND, DECIDED, LANES, METRICS, TRANSACTION_SECONDS
from eunoe.worker.prometheus import PrometheusMeter


def test_every_metric_says_what_to_do_about_it_and_names_no_tenant() -> None:
    for metric in METRICS.values():
        assert metric.name.startswith("eunoe_")
        assert metric.counts
        assert metric.act
        assert not {"tenant", "subject", "memory", "agent"} & set(metric.labels)
        assert bool(metric.buckets) == (metric.kind == "histogram")


def test_counts_and_states_are_on_the_page() -> None:
    meter = PrometheusMeter()
    meter.add(DECIDED, "MemoryAccepted", "", amount=3)
    meter.add(DECIDED, "CommandRejected", "version_conflict")
    meter.observe(TRANSACTION_SECONDS, 0.02)
    state = [(LANES, ("decide", "running"), 4.0), (BEHIND, ("recall", "0"), 17.0)]
    meter.read_from(lambda: state)
    page = meter.page()
    assert 'eunoe_commands_decided_total{fact="MemoryAccepted",reason=""} 3.0' in page
    assert 'eunoe_commands_decided_total{fact="CommandRejected",reason="version_conflict"} 1.0' in page
    assert "eunoe_decide_transaction_seconds_count 1.0" in page
    assert 'eunoe_lanes{service="decide",state="running"} 4.0' in page
    assert 'eunoe_projection_behind{model="recall",partition="0"} 17.0' in page
    state[1] = (BEHIND, ("recall", "0"), 0.0)
    assert 'eunoe_projection_behind{model="recall",partition="0"} 0.0' in meter.page()


def test_two_workers_of_one_process_do_not_share_counts() -> None:
    one, other = PrometheusMeter(), PrometheusMeter()
    one.add(DECIDED, "MemoryAccepted", "")
    assert "MemoryAccepted" in one.page()
    assert "MemoryAccepted" not in other.page()
