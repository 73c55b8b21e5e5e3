"""A policy as people write it: TOML text to `Policy`, or every problem in it with its line.

The grammar is strict (unknown keys are problems) and knows no defaults for what grants something: tenants, actions and
source kinds are always spelled out, ``"*"`` where anything is meant. An example is ``policies/development.toml``.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from types import MappingProxyType
from typing import Final, TypeVar

from eunoe.schemas.ids import AgentId, PrincipalName, SecretId, TenantId, is_incarnation_name, is_name
from eunoe.schemas.policy import (
    ANY,
    HUMAN_ACTIONS,
    SIGNED_ACTIONS,
    KindRule,
    Limits,
    Policy,
    PrincipalRule,
    PurposeRule,
    SecretRef,
    SourceRule,
)
from eunoe.schemas.policy_checks import check_operators, check_owners, check_secrets, check_source
from eunoe.schemas.policy_rules import (
    answers_of,
    circumstances_of,
    classes_of,
    conflicts_of,
    detection_of,
    erasure_of,
    import_keys_of,
    lineage_of,
    rates_of,
    review_of,
    surfaces_of,
)
from eunoe.schemas.public_keys import public_key
from eunoe.schemas.toml_source import NotToml, read_toml
from eunoe.schemas.toml_tables import Problem, Report, Table, member
from eunoe.schemas.topics import SPECS, Topic
from eunoe.schemas.values import (
    Action,
    Algorithm,
    Confirmation,
    PrincipalKind,
    Sensitivity,
    SourceKind,
    Trust,
    Verdict,
)

V = TypeVar("V")
E = TypeVar("E", bound=StrEnum)

_REFERENCE: Final = re.compile(r"(?:env|file):[A-Za-z0-9._-]{1,128}")
_COMMANDS_KEPT: Final = int(SPECS[Topic.EVENTS].config["retention.ms"])
_TOLERANCE: Final = 300_000
_MOST_CHARS: Final = 200_000
_MOST_BYTES: Final = 900_000
"""What is sealed and what goes with it must fit one record of ``memory-events``."""
_MOST_ENTRIES: Final = 1_000


@dataclass(eq=False)
class PolicyError(Exception):
    """The file is no valid policy. ``problems`` holds all that was found. Blame: its author."""

    problems: tuple[Problem, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


def read_policy(data: bytes, file: str = "policy") -> Policy:
    """The policy in ``data``; ``file`` is only its name in messages. Raises `PolicyError`."""
    try:
        source = read_toml(data)
    except NotToml as error:
        raise PolicyError((Problem(file, error.line, error.problem),)) from None
    report = Report(file, source)
    policy = _policy(Table(report, (), source.values), hashlib.sha256(data).hexdigest())
    check_secrets(report, policy.principals)
    check_owners(report, policy.principals)
    check_operators(report, policy.principals)
    if report.problems:
        raise PolicyError(tuple(sorted(report.problems, key=lambda each: each.line)))
    return policy


def development_policy_text() -> str:
    """The development policy with ``@NAME@`` in the place of each public key (see ``runtime.principals``)."""
    return (resources.files("eunoe.schemas") / "policies" / "development.toml").read_text("utf-8")


def _policy(top: Table, digest: str) -> Policy:
    retention = top.table("retention")
    idempotency = retention.duration("idempotency")
    if 1 < idempotency < _COMMANDS_KEPT:
        kept = _COMMANDS_KEPT // 86_400_000
        retention.problem(
            "idempotency", f"retention.idempotency must be at least P{kept}D, as long as commands are kept"
        )
    policy = Policy(
        version=top.integer("version", 1),
        title=top.text("title"),
        hash=digest,
        purposes=_named(top, "purposes", _purpose, wildcard=True),
        kinds=_named(top, "kinds", _kind),
        sources=_sources(top),
        principals={PrincipalName(name): rule for name, rule in _named(top, "principals", _principal).items()},
        limits=_limits(top.table("limits", required=False)),
        idempotency_retention=idempotency,
        expiry_tolerance=retention.duration("expiry_tolerance", _TOLERANCE),
        surfaces=surfaces_of(top),
        circumstances=circumstances_of(top.table("circumstances", required=False)),
        detection=detection_of(top.table("detection", required=False)),
        review=review_of(top.table("review", required=False)),
        conflicts=conflicts_of(top.table("conflicts", required=False)),
        erasure=erasure_of(top.table("erasure", required=False)),
        import_keys=import_keys_of(top.table("import_keys", required=False)),
        rates=rates_of(top.table("rates", required=False)),
        lineage=lineage_of(top.table("lineage", required=False)),
    )
    retention.close()
    top.close()
    return policy


def _named(top: Table, key: str, read: Callable[[str, Table], V], *, wildcard: bool = False) -> Mapping[str, V]:
    found: dict[str, V] = {}
    for name, table in top.tables(key):
        if not is_name(name) and not (wildcard and name == ANY):
            top.table(key).problem(name, f"{name!r} is no name: 1 to 64 of A-Z a-z 0-9 . _ -")
        found[name] = read(name, table)
        table.close()
    return MappingProxyType(found)


def _purpose(name: str, table: Table) -> PurposeRule:
    return PurposeRule(
        name=name,
        owner=table.text("owner"),
        fallback=table.text("fallback"),
        max_sensitivity=table.choice("max_sensitivity", Sensitivity, Sensitivity.RESTRICTED),
    )


def _kind(name: str, table: Table) -> KindRule:
    return KindRule(
        name=name,
        ttl_max=table.duration("ttl_max"),
        own_bucket=table.flag("own_bucket", False),
        answers=answers_of(name, table),
        confirmed_only=table.flag("confirmed_only", False),
        derived=table.flag("derived", False),
        classes=classes_of(name, table),
    )


def _sources(top: Table) -> Mapping[SourceKind, SourceRule]:
    found: dict[SourceKind, SourceRule] = {}
    for name, table in top.tables("sources"):
        kind = member(SourceKind, name)
        if kind is None:
            top.table("sources").problem(name, f"source kind {name!r} is none of {', '.join(SourceKind)}")
            continue
        found[kind] = SourceRule(
            kind=kind,
            trust=table.choice("trust", Trust),
            confirmation=table.choice("confirmation", Confirmation, Confirmation.PROPOSED),
            copies=table.choice("copies", Verdict, Verdict.ALLOW),
        )
        if found[kind].copies is Verdict.REDACT:
            table.problem("copies", f"sources.{name}.copies: a copy cannot be redacted")
        if found[kind].confirmation is Confirmation.REJECTED:
            table.problem("confirmation", f"sources.{name}.confirmation: a new record cannot start as rejected")
        check_source(table, found[kind])
        table.close()
    return MappingProxyType(found)


def _limits(table: Table) -> Limits:
    usual = Limits()

    def entries(name: str, minimum: int = 0) -> int:
        return table.integer(name, minimum, getattr(usual, name), maximum=_MOST_ENTRIES)

    limits = Limits(
        statement_chars=table.integer("statement_chars", 1, usual.statement_chars, maximum=_MOST_CHARS),
        body_bytes=table.integer("body_bytes", 256, usual.body_bytes, maximum=_MOST_BYTES),
        purposes=entries("purposes", 1),
        surfaces=entries("surfaces"),
        about=entries("about"),
        event_ids=entries("event_ids"),
        derived_from=entries("derived_from"),
    )
    table.close()
    return limits


def _principal(name: str, table: Table) -> PrincipalRule:
    tenants = table.any_or_names("tenants", required=True)
    for tenant in tenants or ():
        if not is_incarnation_name(tenant):
            table.problem("tenants", f"principals.{name}.tenants: {tenant!r} is no tenant name")
    actions = _vocabulary(table, "actions", Action, table.names("actions", required=True))
    kinds = table.any_or_names("source_kinds", required=Action.WRITE in actions)
    purposes, agents = _named_or_any(name, table, "purposes"), _named_or_any(name, table, "agents")
    rule = PrincipalRule(
        name=PrincipalName(name),
        kind=table.choice("kind", PrincipalKind),
        owner=table.text("owner"),
        tenants=None if tenants is None else frozenset(map(TenantId, tenants)),
        actions=actions,
        source_kinds=None if kinds is None else _vocabulary(table, "source_kinds", SourceKind, kinds),
        max_sensitivity=table.choice("max_sensitivity", Sensitivity, Sensitivity.PERSONAL),
        secrets=tuple(_secret(each) for each in table.entries("secrets")),
        purposes=purposes,
        agents=None if agents is None else frozenset(map(AgentId, agents)),
    )
    if rule.kind is not PrincipalKind.HUMAN and (human := sorted(HUMAN_ACTIONS & actions)):
        # The decider refuses it too: granting it would only look as if somebody reviewed (A21), or had decided.
        table.problem(
            "actions", f"principals.{name}: only a human may have {', '.join(human)}, and it is a {rule.kind}"
        )
    signs = any(secret.algorithm is Algorithm.ED25519 for secret in rule.secrets)
    if (needing := sorted(rule.actions & SIGNED_ACTIONS)) and not signs:
        table.problem(
            "actions", f"principals.{name}: {', '.join(needing)} must be signed, and it has no ed25519 secret"
        )
    return rule


def _named_or_any(principal: str, table: Table, key: str) -> frozenset[str] | None:
    """None where nothing is said, or ``"*"``: any."""
    names = table.any_or_names(key, required=True) if key in table else None
    for each in names or ():
        if not is_name(each):
            table.problem(key, f"principals.{principal}.{key}: {each!r} is no name: 1 to 64 of A-Z a-z 0-9 . _ -")
    return None if names is None else frozenset(names)


def _vocabulary(table: Table, key: str, vocabulary: type[E], names: tuple[str, ...]) -> frozenset[E]:
    found = {name: member(vocabulary, name) for name in names}
    for name, value in found.items():
        if value is None:
            table.problem(key, f"{'.'.join(table.path)}.{key}: {name!r} is none of {', '.join(vocabulary)}")
    return frozenset(value for value in found.values() if value is not None)


def _secret(table: Table) -> SecretRef:
    secret_id = table.text("id")
    if secret_id and not is_name(secret_id):
        table.problem("id", f"{secret_id!r} is no name: 1 to 64 of A-Z a-z 0-9 . _ -")
    algorithm = table.choice("algorithm", Algorithm)
    # Never quoted in a message: somebody will paste a real secret here one day.
    if algorithm is Algorithm.ED25519:
        reference = table.text("public_key")
        if reference and public_key(reference) is None:
            table.problem("public_key", "public_key must be an Ed25519 public key: 32 bytes in base64")
    else:
        reference = table.text("secret")
        if reference and not _REFERENCE.fullmatch(reference):
            table.problem(
                "secret", "secret must say where it is, env:NAME or file:NAME, and never be the secret itself"
            )
    table.close()
    return SecretRef(secret_id=SecretId(secret_id), algorithm=algorithm, reference=reference)
