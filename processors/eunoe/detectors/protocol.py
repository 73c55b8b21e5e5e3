"""What a detector is given and what it answers. Anybody's package may bring one: entry points of `GROUP`."""

from collections.abc import Iterable
from typing import Final, Protocol, runtime_checkable

from msgspec import Struct

from eunoe.detectors.folding import fold, hidden
from eunoe.schemas.commands import MemoryBody
from eunoe.schemas.values import Sensitivity, SourceKind

GROUP: Final = "eunoe.detectors"
FAILED: Final = "failed"
"""The class of a finding that says: the detector crashed or took too long."""
MARK: Final = "[redacted]"


class Examined(Struct, frozen=True, kw_only=True, gc=False, repr_omit_defaults=True):
    """The plaintext that one body offers, and the clear fields that bear on it. Its repr shows none of it.

    ``folded`` is what the rules about wording read: see `eunoe.detectors.folding`. It is made once, for all detectors.
    """

    statement: str
    claim_key: str | None = None
    source_uri: str | None = None
    provenance: str | None = None
    external_id: str | None = None
    answers: tuple[str, ...] = ()
    event_ids: tuple[str, ...] = ()
    source_kind: SourceKind = SourceKind.USER_EXPLICIT
    kind: str = "fact"
    sensitivity: Sensitivity = Sensitivity.INTERNAL
    folded: str = ""

    def __repr__(self) -> str:
        return f"Examined({self.source_kind.value}, {self.kind})"


@runtime_checkable
class Detector(Protocol):
    """Pure and quick: the same text has the same classes, and nothing waits for the world.

    ``rules`` are the classes it can find, the names that policy speaks of. It may raise: that is a finding `FAILED`.
    """

    @property
    def name(self) -> str: ...

    @property
    def rules(self) -> frozenset[str]: ...

    def examine(self, examined: Examined) -> Iterable[str]:
        """The classes that were found, each of ``rules``; no text."""
        ...


@runtime_checkable
class Redacting(Detector, Protocol):
    """A detector that can also say where."""

    def redact(self, text: str, rules: frozenset[str]) -> str:
        """``text`` with every place of these classes replaced by `MARK`. Nothing of them is left in it."""
        ...


def examined(body: MemoryBody, source_kind: SourceKind, kind: str, sensitivity: Sensitivity) -> Examined:
    """A body as detectors take it."""
    answers: tuple[str, ...] = ()
    if body.answers is not None:
        answers = tuple(
            answer for name in body.answers.__struct_fields__ if (answer := getattr(body.answers, name)) is not None
        )
    return Examined(
        statement=body.statement,
        claim_key=body.claim_key,
        source_uri=body.source_uri,
        provenance=body.provenance,
        external_id=body.external_id,
        answers=answers,
        event_ids=body.event_ids,
        source_kind=source_kind,
        kind=kind,
        sensitivity=sensitivity,
        folded=folded_fields(body.statement, body.claim_key, body.provenance, body.external_id, answers),
    )


def alone(text: str, source_kind: SourceKind = SourceKind.THIRD_PARTY) -> Examined:
    """One text, as if it were the whole of a statement."""
    return Examined(statement=text, source_kind=source_kind, folded=folded_fields(text, None, None, None, ()))


def folded_fields(
    statement: str, claim_key: str | None, provenance: str | None, external_id: str | None, answers: tuple[str, ...]
) -> str:
    """All fields folded into one line; a border between fields is a line feed, which rules take for a space.

    The claim key stands on both sides of the statement: what is split over the two reads on in either order. Where it
    is no plain key, the two are also glued together, for a word may be split too. What is hidden in the text (base64,
    tag characters) comes behind it.
    """
    parts = [fold(statement)]
    found = hidden(statement)
    if claim_key is not None:
        key = fold(claim_key.translate(_SEPARATORS))
        parts = [key, *parts, key]
        found += hidden(claim_key)
        if not claim_key.isascii() or " " in claim_key:
            found += (statement + claim_key, claim_key + statement)
    parts += [fold(each) for each in (provenance, external_id) if each is not None]
    return "\n".join(parts) + "".join(f". {fold(each)}" for each in (*answers, *found))


_SEPARATORS: Final = str.maketrans("._/-", "    ")
