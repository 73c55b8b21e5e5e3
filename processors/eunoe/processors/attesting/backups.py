"""The stage *backups-unreadable*: written once the key-encryption key of that time is destroyed.

It covers whom a rotation covers: those whose keys were gone from ``memory-keys`` before anything was wrapped anew, as
their receipt *compacted* says. Whoever was forgotten later is covered by the next rotation.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from eunoe.crypto.hierarchy import kek_behind
from eunoe.processors.attesting.chain import ReceiptChain
from eunoe.processors.shredding.rewrapping import behind
from eunoe.runtime.brokers import Bootstrap
from eunoe.runtime.installation import Installation
from eunoe.runtime.live_keys import reading_live_keys
from eunoe.schemas.control import KekRotation, RotationStage
from eunoe.schemas.ids import Offset, Partition
from eunoe.schemas.receipts import NOT_COVERED, OF_BACKUPS, WORDING, Stage

_RECORDED: Final = "recorded on memory-control; not looked at by the process that signs this"
_OTHER_COPIES: Final = "copies of the retired key-encryption key itself, of which the operator attests what became"


def covered(chain: ReceiptChain, partition: Partition, rotation: KekRotation | None) -> Sequence[Offset]:
    """The closing events that this rotation covers and that have no such receipt yet."""
    if rotation is None or rotation.stage is not RotationStage.DESTROYED:
        return ()
    last = rotation.receipts[partition]
    return [
        offset
        for offset, (sequence, statement) in sorted(chain.compacted.items())
        if sequence <= last and statement["claim"] == WORDING and not chain.has(offset, Stage.BACKUPS_UNREADABLE)
    ]


def not_covered() -> list[str]:
    """What such a receipt does not speak of."""
    return [*(each for each in NOT_COVERED if each != OF_BACKUPS), _OTHER_COPIES]


async def backup_checks(
    bootstrap: Bootstrap, installation: Installation, partition: Partition, rotation: KekRotation
) -> list[Mapping[str, Any]]:
    """What holds for everybody whom this rotation covers in the partition. Raises what aiokafka does."""
    async with reading_live_keys(bootstrap, installation, partition) as live:
        end = await live.catch_up()
    under_retired = sum(kek_behind(each.wrapped_by) == rotation.retires for each in behind(live.keys, rotation.wraps))
    return [
        {
            "check": "the whole key partition read back: no live key is under the retired key-encryption key",
            "passed": under_retired == 0,
            "retired": rotation.retires,
            "keys": len(live.keys),
            "under_retired": under_retired,
            "read_to_offset": end,
            "fence_offset": rotation.fence[partition],
        },
        {
            "check": "every process that was listed as a holder acknowledged the fence and let go of the retired key",
            "passed": True,
            "processes": rotation.holders,
            "said_to_be_dead": len(rotation.without),
            "source": _RECORDED,
        },
        {
            "check": "search terms are blinded under index keys made anew",
            "passed": True,
            "index_keys": rotation.index_keys,
            "source": _RECORDED,
        },
        {
            "check": "a backup from after the fence was restored elsewhere and opened with the new key alone",
            "passed": rotation.backup is not None,
            "keys": 0 if rotation.backup is None else rotation.backup.keys,
            "facts": 0 if rotation.backup is None else rotation.backup.facts,
            "bodies": 0 if rotation.backup is None else rotation.backup.bodies,
            "source": _RECORDED,
        },
        {
            "check": f"the retired key-encryption key is destroyed: {rotation.evidence}",
            "passed": True,
            "attested": rotation.attested or "",
            "said_by_those_who_agreed": "; ".join(sorted({each.said for each in rotation.approvals})),
            "people_who_agreed": len(rotation.approvals),
            "source": _RECORDED,
        },
    ]


def own_check(chain: ReceiptChain, offset: Offset, rotation: KekRotation, partition: Partition) -> Mapping[str, Any]:
    """What holds for this one."""
    sequence, _ = chain.compacted[offset]
    return {
        "check": "its keys were gone from the key partition before anything was wrapped anew",
        "passed": True,
        "receipt_of_that": sequence,
        "last_receipt_before_the_rotation": rotation.receipts[partition],
    }
