"""From a decided record and its opened body to the bytes that `recall` stores of it."""

from datetime import UTC, datetime
from functools import lru_cache

from eunoe.crypto.keys import IndexKey
from eunoe.readmodels.recall import keys as names
from eunoe.readmodels.recall.analyse import DocumentTerms
from eunoe.readmodels.recall.rank import Bm25
from eunoe.readmodels.recall.record import Guards, Postings, StoredRecord, encode
from eunoe.schemas import events
from eunoe.schemas.commands import Draft, MemoryBody
from eunoe.schemas.events import EventHeader
from eunoe.schemas.ids import AgentId, Millis, TenantId
from eunoe.schemas.values import Visibility


def instant(at: Millis | None) -> datetime | None:
    """When a statement was observed, as the analyser takes it: a record is also found by that date."""
    return None if at is None else datetime.fromtimestamp(at / 1_000, UTC)


def document_of(  # the record, what was read of it, and what it is indexed with
    number: int,
    header: EventHeader,
    fact: events.MemoryAccepted | events.MemoryQuarantined,
    body: MemoryBody,
    terms: DocumentTerms,
    key: IndexKey,
    ranking: Bm25,
) -> bytes:
    """The document of record ``number``: in use if the fact accepts it, waiting if it is quarantined."""
    draft = fact.draft
    bounded = draft.valid_from is not None or draft.valid_until is not None
    flags = (
        (names.SPECIAL if draft.surfaces or bounded else 0)
        | (names.PROVENANCE if body.provenance or body.source_uri or body.event_ids else 0)
        | (names.SHARED if draft.visibility is Visibility.SHARED else 0)
        | (names.ABOUT if fact.about else 0)
    )
    member = names.Member(
        number=number,
        expires_at=draft.expires_at,
        created_at=header.said.decided_at,
        confidence=round(draft.confidence * 100),
        length=min(terms.length, 0xFFFF),
        grades=names.Grades(
            sensitivity=draft.sensitivity,
            trust=fact.trust,
            memory_class=draft.memory_class,
            confirmation=fact.confirmation,
        ),
        flags=flags,
        tag=names.subject_tag(draft.subject),
    )
    return names.pack_document(
        member,
        occasion=_occasion(draft, body, key),
        state=names.ACTIVE if isinstance(fact, events.MemoryAccepted) else names.WAITING,
        version=1,
        guards=_guards(fact).pack(),
        postings=_postings(header.tenant, fact, terms, key, ranking).pack(),
        record=encode(_record(header, fact)),
    )


def _occasion(draft: Draft, body: MemoryBody, key: IndexKey) -> bytes:
    """Eight bytes that records of one source event share, blinded; zeros where no source is named."""
    if body.source_uri is None:
        return names.NO_OCCASION
    return key.token("occasion", f"{draft.observed_at} {body.source_uri}")


def _guards(fact: events.MemoryAccepted | events.MemoryQuarantined) -> Guards:
    draft = fact.draft
    return Guards(
        surfaces=draft.surfaces,
        valid_from=draft.valid_from or 0,
        valid_until=draft.valid_until or 0,
        refs=(
            f"{draft.subject}:{draft.generation}",
            *(f"{each.subject}:{each.generation}" for each in fact.about),
        ),
    )


def _postings(
    tenant: TenantId,
    fact: events.MemoryAccepted | events.MemoryQuarantined,
    terms: DocumentTerms,
    key: IndexKey,
    ranking: Bm25,
) -> Postings:
    draft = fact.draft
    owner: AgentId | None = None if draft.visibility is Visibility.SHARED else draft.agent
    words, scores = [term for term, _ in terms.counts], _scores(ranking, terms.length)
    scopes = dict.fromkeys(names.scope_name(owner, purpose) for purpose in draft.purposes)
    return Postings(
        tenant=tenant,
        memory=names.memory_bytes(draft.memory_id),
        sets=(
            f"s:{tenant}:{draft.subject}:{draft.generation}",
            *(f"a:{tenant}:{each.subject}:{each.generation}" for each in fact.about),
        ),
        scores=b"".join([scores[count] for _, count in terms.counts]),
        scopes=tuple((name, b"".join(key.tokens(name, words))) for name in scopes),
    )


class _Scores(dict[int, bytes]):
    """By count: what a term weighs in documents of ``length`` words, as it is stored. Most terms have one of few."""

    def __init__(self, ranking: Bm25, length: int) -> None:
        self._ranking = ranking
        self._length = length

    def __missing__(self, count: int) -> bytes:
        score = names.posting_score(self._ranking.impact(count, self._length), count)
        self[count] = score.to_bytes(names.SCORE_BYTES)
        return self[count]


_scores = lru_cache(maxsize=1_024)(_Scores)


def _record(header: EventHeader, fact: events.MemoryAccepted | events.MemoryQuarantined) -> StoredRecord:
    draft = fact.draft
    return StoredRecord(
        memory_id=draft.memory_id,
        tenant=header.tenant,
        incarnation=fact.incarnation,
        agent=draft.agent,
        subject=draft.subject,
        generation=draft.generation,
        about=tuple(each.subject for each in fact.about),
        purposes=draft.purposes,
        visibility=draft.visibility,
        surfaces=draft.surfaces,
        producer_surface=draft.producer_surface,
        scope=draft.scope,
        kind=draft.kind,
        memory_class=draft.memory_class,
        retention=draft.retention,
        source_kind=draft.source_kind,
        observed_at=draft.observed_at,
        confidence=draft.confidence,
        sensitivity=draft.sensitivity,
        valid_from=draft.valid_from,
        valid_until=draft.valid_until,
        created_at=header.said.decided_at,
        expires_at=draft.expires_at,
        export_delete_policy=draft.export_delete_policy,
        principal=header.said.principal,
        policy_version=header.said.policy_version,
        event_id=header.said.event_id,
        key_id=draft.key_id,
        body_version=draft.body_version,
        body=draft.body,
        conflict_policy=draft.conflict_policy,
        derived_from=draft.derived_from,
    )
