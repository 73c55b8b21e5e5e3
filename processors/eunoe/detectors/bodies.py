"""Between a command's body and the detectors: what the worker plugs into its opener."""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from eunoe.detectors.detectors import Detectors
from eunoe.detectors.protocol import MARK, examined
from eunoe.schemas.commands import Answers, Draft, MemoryBody
from eunoe.schemas.events import Finding
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import Sensitivity, SourceKind


@dataclass(frozen=True, slots=True)
class BodyExaminer:
    """Has the shape of `eunoe.processors.opening.Examiner`. Neither result nor exception holds any of the body."""

    detectors: Detectors

    def examine(self, body: MemoryBody, draft: Draft, policy: Policy) -> tuple[Finding, ...]:
        """Everything that was found, each with what ``policy`` makes of it."""
        return self.detectors.examine(examined(body, draft.source_kind, draft.kind, draft.sensitivity), policy)

    def redact(self, body: MemoryBody, findings: tuple[Finding, ...]) -> MemoryBody:
        """The body without the places of the findings with the verdict ``redact``.

        What is found only in several fields together is in none of them alone: then all of them go.
        """
        kept = _each_field(body, lambda text: self.detectors.redact(text, findings))
        # Read as strictly as anybody's words are, whoever said them: what is left in stays in.
        if self.detectors.clean(examined(kept, SourceKind.THIRD_PARTY, "fact", Sensitivity.INTERNAL), findings):
            return kept
        return _each_field(body, lambda text: MARK)


def _each_field(body: MemoryBody, change: Callable[[str], str]) -> MemoryBody:
    def changed(text: str | None) -> str | None:
        return None if text is None else change(text)

    answers = body.answers
    if answers is not None:
        names = Answers.__struct_fields__
        answers = replace(answers, **{name: changed(getattr(answers, name)) for name in names})
    return replace(
        body,
        statement=change(body.statement),
        claim_key=changed(body.claim_key),
        provenance=changed(body.provenance),
        source_uri=changed(body.source_uri),
        external_id=changed(body.external_id),
        session_id=body.session_id if changed(body.session_id) == body.session_id else None,
        event_ids=tuple(each for each in body.event_ids if change(each) == each),
        evidence=tuple(each for each in body.evidence if change(each.event_id) == each.event_id),
        answers=answers,
    )
