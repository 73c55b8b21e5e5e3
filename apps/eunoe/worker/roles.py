"""What a worker is told to do: its roles, and which unusable records an operator said to go on over."""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from eunoe.schemas.ids import Offset, Partition
from eunoe.worker.errors import BadAcceptance, RoleUnavailable

_RANGE: Final = re.compile(r"(\d{1,9}):(\d{1,18})-(\d{1,18})")

Accepted = Mapping[Partition, tuple[tuple[Offset, Offset], ...]]
"""By partition of ``memory-events``: offset ranges, both ends included."""


class Role(StrEnum):
    DECIDE = "decide"
    """Judges commands, and sweeps what is due."""
    PROJECT = "project"
    """Keeps every read model up to date."""
    SHRED = "shred"
    """Destroys the keys of what was forgotten or is over."""
    ATTEST = "attest"
    """Proves erasures, and signs their receipts."""


ALL: Final[frozenset[Role]] = frozenset(Role)


def parse_roles(text: str) -> frozenset[Role]:
    """``decide,project``. Raises `RoleUnavailable`."""
    names = [each.strip() for each in text.split(",") if each.strip()]
    for name in names:
        if name not in tuple(Role):
            raise RoleUnavailable(name, f"there is no such role; known are {', '.join(Role)}")
    if not names:
        raise RoleUnavailable(text, f"name at least one of {', '.join(Role)}")
    return frozenset(map(Role, names))


def parse_accepted(texts: Iterable[str]) -> Accepted:
    """``3:120-180`` each, several ranges of one partition too. Raises `BadAcceptance`."""
    accepted: dict[Partition, Sequence[tuple[Offset, Offset]]] = {}
    for text in texts:
        found = _RANGE.fullmatch(text.strip())
        if found is None or int(found[2]) > int(found[3]):
            raise BadAcceptance(text)
        partition = Partition(int(found[1]))
        accepted[partition] = (*accepted.get(partition, ()), (Offset(int(found[2])), Offset(int(found[3]))))
    return {partition: tuple(ranges) for partition, ranges in accepted.items()}
