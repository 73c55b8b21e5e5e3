"""What a detector is given and what it answers. Anybody's package may bring one: entry points of `GROUP`."""

import re
from collections.abc import Iterable
from typing import Final, Protocol, runtime_checkable
from urllib.parse import unquote_plus

from msgspec import Struct

from eunoe.detectors.folding import fold
from eunoe.detectors.hiding import hidden
from eunoe.schemas.commands import MemoryBody
from eunoe.schemas.values import Sensitivity, SourceKind

GROUP: Final = "eunoe.detectors"
FAILED: Final = "failed"
"""The class of a finding that says: the detector crashed or took too long."""
MARK: Final = "[redacted]"


class Examined(Struct, frozen=True, kw_only=True, gc=False, repr_omit_defaults=True):
    """The plaintext that one body offers, and the clear fields that bear on it. Its repr shows none of it.

    ``folded`` is what the rules about wording read: see `eunoe.detectors.folding`. It is made once, for all detectors.
    So are ``middle``, the statement alone, ``beside``, the fields that may go on from it or lead up to it, both folded,
    and ``said``, what is hidden in any field.
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
    middle: str = ""
    beside: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

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
    folded, middle, beside, said = _read(body, answers)
    return Examined(
        statement=body.statement,
        claim_key=body.claim_key,
        source_uri=body.source_uri,
        provenance=body.provenance,
        external_id=body.external_id,
        answers=answers,
        event_ids=body.event_ids if body.session_id is None else (*body.event_ids, body.session_id),
        source_kind=source_kind,
        kind=kind,
        sensitivity=sensitivity,
        folded=folded,
        middle=middle,
        beside=beside,
        said=said,
    )


def alone(text: str, source_kind: SourceKind = SourceKind.THIRD_PARTY) -> Examined:
    """One text, as if it were the whole of a statement."""
    middle, said = fold(text), hidden(text)
    return Examined(
        statement=text, source_kind=source_kind, folded=_behind(middle, said), middle=middle, beside=(), said=said
    )


def _read(body: MemoryBody, answers: tuple[str, ...]) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    """``folded``, ``middle``, ``beside`` and ``said`` of `Examined`.

    The claim key stands on both sides of the statement: what is split over the two reads on in either order; a border
    between them is a line feed, which rules take for a space. Where it is no plain key, the two are also glued
    together, for a word may be split too. The other fields, and what is hidden in the text (base64, tag characters),
    come behind as sentences of their own.
    """
    middle, said, claim_key = fold(body.statement), hidden(body.statement), body.claim_key
    folded = middle
    glued: tuple[str, ...] = ()
    if claim_key is not None:
        key = fold(_key_words(claim_key))
        folded = f"{key}\n{middle}\n{key}"
        said += hidden(claim_key)
        if not claim_key.isascii() or " " in claim_key:
            glued = (body.statement + claim_key, claim_key + body.statement)
    beside: list[str] = []
    for text in (body.provenance, *answers):
        if text is not None:
            beside.append(fold(text))
            said += hidden(text)
    for text in (body.external_id, body.source_uri, body.session_id, *body.event_ids):
        if text is not None:
            beside.append(fold(_address_words(text)))
            said += hidden(text)
    if glued or beside or said:
        folded = _behind(folded, (*glued, *said), beside)
    return folded, middle, tuple(beside), said


def _behind(folded: str, texts: tuple[str, ...], beside: Iterable[str] = ()) -> str:
    return folded + "".join(f". {each}" for each in (*beside, *map(fold, texts)))


def _key_words(key: str) -> str:
    """``refundLimit`` and ``refund_limit`` are two words each."""
    if not key.islower():
        key = _HUMP.sub(" ", key)
    return key.translate(_SEPARATORS)


def _address_words(address: str) -> str:
    """The words in an address or an id. Which protocol it is of (``mail:``) is none of what it says."""
    if "%" in address:
        address = unquote_plus(address)
    scheme, found, rest = address.partition(":")
    return _key_words(rest if found and scheme.lower() in _SCHEMES else address)


_SEPARATORS: Final = str.maketrans("._/-:?&=#+~|", "            ")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SCHEMES: Final = frozenset(
    ("http", "https", "mail", "mailto", "imap", "crm", "file", "ftp", "s3", "gs", "chat", "ticket", "call", "tel")
)
