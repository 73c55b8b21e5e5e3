"""Who may do what: the rules about the principal, asked before anything else, and about a request made twice."""

from dataclasses import replace
from typing import Final

from eunoe.domain.entries import HOUR_MS
from eunoe.domain.known import Case, Refusal
from eunoe.domain.memory import MemoryState
from eunoe.schemas.commands import Command, CompleteForgetting, Draft, ExpireMemory, IssueKey
from eunoe.schemas.events import CommandDuplicate, Reason
from eunoe.schemas.ids import TenantId, is_name
from eunoe.schemas.policy import HUMAN_ACTIONS, SIGNED_ACTIONS, Policy, PrincipalRule
from eunoe.schemas.values import Action, Algorithm, PrincipalKind, Sensitivity, Writing

IDEMPOTENCY_BYTES: Final = 16
SENSITIVITY_RANK: Final = {each: rank for rank, each in enumerate(Sensitivity)}


def entitled(case: Case, action: Action, tenant: TenantId) -> Refusal | None:
    """The principal may do this in this tenant, said so in the way the action asks for."""
    if not is_name(tenant):
        return Refusal(reason=Reason.INVALID_FIELD, field="tenant")
    rule = case.policy.principals.get(case.opened.principal)
    if rule is None:
        return Refusal(reason=Reason.NOT_ALLOWED, field="principal")
    if not rule.enters(tenant, _meant(case)):
        return Refusal(reason=Reason.FOREIGN_TENANT, field="tenant")
    return _granted(case, rule, action)


def gate(case: Case, action: Action, tenant: TenantId) -> Refusal | None:
    """`entitled`, and the command speaks of the tenant that has this name now."""
    return entitled(case, action, tenant) or _same_tenant(case)


def _same_tenant(case: Case) -> Refusal | None:
    """Pseudonyms, hashes and keys of an earlier incarnation mean nothing in a later one."""
    state, command = case.known.tenant, case.opened.command
    if state is None:
        return None if command.incarnation == 1 else Refusal(reason=Reason.INVALID_FIELD, field="incarnation")
    meant = _meant(case)
    if state.closed or meant < state.incarnation:
        return Refusal(reason=Reason.TENANT_FORGOTTEN, field="tenant")
    return None if meant == state.incarnation else Refusal(reason=Reason.INVALID_FIELD, field="incarnation")


def _meant(case: Case) -> int:
    """The incarnation that the command speaks of. Who opens a tenant, and the sweeper, say nothing that depends on its
    keys: they mean the one that there is."""
    state, command = case.known.tenant, case.opened.command
    return command.incarnation if state is None or not _means_any(command) else state.incarnation


def _means_any(command: Command) -> bool:
    if isinstance(command, IssueKey):
        return command.subject is None and command.bucket is None
    return isinstance(command, ExpireMemory | CompleteForgetting)


def _granted(case: Case, rule: PrincipalRule, action: Action) -> Refusal | None:
    if action not in rule.actions:
        return Refusal(reason=Reason.NOT_ALLOWED, field=action.value)
    # Whatever it was granted: a model must neither let its own memory into use (A21) nor destroy what others keep.
    if action in HUMAN_ACTIONS and rule.kind is not PrincipalKind.HUMAN:
        return Refusal(reason=Reason.NOT_ALLOWED, field=action.value)
    if action in SIGNED_ACTIONS and case.opened.algorithm is not Algorithm.ED25519:
        return Refusal(reason=Reason.SIGNATURE_REQUIRED, field=action.value)
    return None


def writing_gate(case: Case, action: Action, tenant: TenantId) -> Refusal | None:
    """`gate`, for what adds to memory or brings it into use. The switch never holds up taking back or forgetting."""
    objection = gate(case, action, tenant)
    if objection is None and case.writing is Writing.OFF:
        return Refusal(reason=Reason.WRITES_OFF)
    if objection is None and case.known.tenant is not None and case.known.tenant.request is not None:
        return Refusal(reason=Reason.TENANT_RESTRICTED, field="tenant")
    return objection


def seen_gate(case: Case, action: Action, tenant: TenantId) -> Refusal | None:
    """`writing_gate`, for what somebody must have looked at: while it is not shown, nobody can have."""
    return writing_gate(case, action, tenant) or (None if case.reading else Refusal(reason=Reason.READS_OFF))


def may_ask_to_forget(case: Case, tenant: TenantId) -> Refusal | None:
    """Who may request that a person be forgotten."""
    return gate(case, Action.REQUEST_ERASURE, tenant)


def within_limit(case: Case) -> Refusal | None:
    """The principal may have something more destroyed in this tenant in this hour of log time."""
    quota, hour = case.known.quota, case.now // HOUR_MS
    used = 0 if quota is None or quota.hour != hour else dict(quota.used).get(case.opened.principal, 0)
    return Refusal(reason=Reason.LIMIT_REACHED, field="principal") if used >= case.policy.erasure.per_hour else None


def source_allowed(case: Case, draft: Draft) -> Refusal | None:
    """For whom and what the principal may write, and what it may claim about source and sensitivity.

    The gate was passed, so the principal is in the policy.
    """
    return claimed(draft, case.policy.principals[case.opened.principal], case.policy)


def within_scope(case: Case, draft: Draft) -> Refusal | None:
    """`source_allowed` for who does not say where it comes from: somebody else wrote what is brought in."""
    rule = case.policy.principals[case.opened.principal]
    return claimed(draft, replace(rule, source_kinds=None), case.policy)


def claimed(draft: Draft, rule: PrincipalRule, policy: Policy) -> Refusal | None:
    """`source_allowed`, for the author with this ``rule``."""
    if not rule.speaks_for(draft.agent):
        return Refusal(reason=Reason.NOT_ALLOWED, field="agent")
    if not all(map(rule.serves, draft.purposes)):
        return Refusal(reason=Reason.NOT_ALLOWED, field="purposes")
    kinds = rule.source_kinds
    if draft.source_kind not in policy.sources or (kinds is not None and draft.source_kind not in kinds):
        return Refusal(reason=Reason.SOURCE_NOT_ALLOWED, field="source_kind")
    if SENSITIVITY_RANK[draft.sensitivity] > SENSITIVITY_RANK[rule.max_sensitivity]:
        return Refusal(reason=Reason.NOT_ALLOWED, field="sensitivity")
    return None


def cleared(case: Case, *records: MemoryState) -> Refusal | None:
    """Nobody replaces, lets into use or answers for what is above what they may read. The gate was passed."""
    most = SENSITIVITY_RANK[case.policy.principals[case.opened.principal].max_sensitivity]
    if any(SENSITIVITY_RANK[each.sensitivity] > most for each in records):
        return Refusal(reason=Reason.NOT_ALLOWED, field="max_sensitivity")
    return None


def same_owner(case: Case, record: MemoryState) -> bool:
    """Whether the principal wrote it, or somebody who was of its owner then or is now.

    So whoever leaves the policy, or is given to another owner, leaves what they wrote to nobody of their own.
    """
    author = case.policy.principals.get(record.author)
    owners = {record.owner} | (set() if author is None else {author.owner})
    return record.author == case.opened.principal or owner(case) in owners


def owner(case: Case) -> str:
    """Whose the principal is, under the policy in force. The gate was passed."""
    return case.policy.principals[case.opened.principal].owner


def not_own(case: Case, record: MemoryState) -> Refusal | None:
    """Nobody judges what they, or somebody of the same owner, wrote (C15)."""
    if record.author == case.opened.principal:
        return Refusal(reason=Reason.OWN_MEMORY)
    return Refusal(reason=Reason.SAME_OWNER) if same_owner(case, record) else None


def repeated(case: Case, idempotency: bytes) -> CommandDuplicate | Refusal | None:
    """The answer to a request made before, under another command id; None for a new one.

    An entry lapses by log time. Where the body could not be opened there is no digest to compare, and the rules that
    follow say why it could not.
    """
    if len(idempotency) != IDEMPOTENCY_BYTES:
        return Refusal(reason=Reason.INVALID_FIELD, field="idempotency")
    entry, opened = case.known.idempotency, case.opened
    if entry is None or case.now - entry.decided_at > case.policy.idempotency_retention:
        return None
    if opened.failure is not None:
        return None
    if opened.digests is None or opened.digests.payload != entry.payload_digest:
        return Refusal(reason=Reason.IDEMPOTENCY_MISMATCH, field="idempotency")
    return CommandDuplicate(
        first_command_id=entry.first_command_id,
        memory_id=entry.memory_id,
        version=entry.version,
        records=entry.records,
    )
