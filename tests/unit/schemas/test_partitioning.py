"""A tenant's partition is the one that the Java client computes, in every process (S14, S23)."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.schemas.ids import TenantId
from eunoe.schemas.partitioning import murmur2, partition_of

# UtilsTest.testMurmur2 of Apache Kafka's Java client.
JAVA_VECTORS = {
    "21": -973932308,
    "foobar": -790332482,
    "a-little-bit-long-string": -985981536,
    "a-little-bit-longer-string": -1486304829,
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    "abc": 479470107,
}

IN_A_PROCESS = """
from eunoe.schemas.partitioning import partition_of
print([partition_of(f"tenant-{n}", 64) for n in range(200)], hash("tenant-1"))
"""


@pytest.mark.parametrize(("text", "signed"), JAVA_VECTORS.items())
def test_murmur2_is_the_java_clients(text: str, signed: int) -> None:
    assert murmur2(text.encode()) == signed & 0xFFFFFFFF


def test_a_tenant_is_where_the_java_clients_default_partitioner_puts_it() -> None:
    assert [partition_of(TenantId(text), 12) for text in JAVA_VECTORS] == [
        (signed & 0x7FFFFFFF) % 12 for signed in JAVA_VECTORS.values()
    ]


def test_two_processes_agree_whatever_their_hash_seed() -> None:
    partitions, hashes = zip(*(_in_a_process(seed) for seed in ("1", "2")), strict=True)
    assert hashes[0] != hashes[1], "the seeds must matter for this test to mean anything"
    assert partitions[0] == partitions[1]


def _in_a_process(hash_seed: str) -> tuple[str, str]:
    environ = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", IN_A_PROCESS], env=environ, capture_output=True, text=True, check=True)
    partitions, _, hashed = ran.stdout.strip().rpartition(" ")
    return partitions, hashed


@given(st.text(min_size=1), st.integers(1, 4096))
def test_every_tenant_has_a_partition_among_those_there_are(tenant: str, partitions: int) -> None:
    assert 0 <= partition_of(TenantId(tenant), partitions) < partitions
