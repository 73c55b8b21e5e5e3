"""What a drill is told, whom it makes up, and what it tells."""

import base64
import binascii
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from eunoe.operations.byte_patterns import Wanted
from eunoe.runtime.principals import control_signer
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import MemoryId, PrincipalName, TenantId

REMAINS: Final = (
    "the tenant's key and, for each run, two closed pseudonyms that no name belongs to",
    "the facts of the run on memory-lifecycle, sealed bodies among them that nobody can open",
    "its receipts, and its entries in the erasure ledger",
    "commands, traces and tombstones until their topics' retention is over",
)
"""What the drill cannot take back from a log that only grows."""


class StepFailed(Exception):
    """What a step found instead of what it must find. Holds no content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``timeout``: seconds for each receipt. ``key``: the receipts' public key, where it is not the installation's own.
    ``also``: further folders to search for canaries (logs, exports). ``rebuild``: whether `recall` is filled anew from
    the log, in the tenant's partition, to look for them there too."""

    tenant: TenantId
    officer: PrincipalName
    agent: str = "eunoe-drill"
    purpose: str = "drill"
    timeout: float = 120.0
    key: str | None = None
    also: tuple[Path, ...] = ()
    rebuild: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """``found``: what was seen, in words without content. ``ok`` None: not done, for a step before it failed."""

    name: str
    ok: bool | None
    found: str
    seconds: float = 0.0

    @property
    def document(self) -> dict[str, Any]:
        return {"step": self.name, "ok": self.ok, "found": self.found, "seconds": round(self.seconds, 3)}


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody made up for this run. Nothing of it is ever shown."""

    subject: str = field(default_factory=lambda: f"drill-{secrets.token_hex(8)}", repr=False)
    word: str = field(default_factory=lambda: f"canary{secrets.token_hex(6)}", repr=False)
    mark: str = field(default_factory=lambda: secrets.token_hex(8), repr=False)
    summary_word: str = field(default_factory=lambda: f"canary{secrets.token_hex(6)}", repr=False)

    @property
    def line(self) -> dict[str, Any]:
        return {
            "statement": f"The {self.word} sings in this drill alone, and nowhere else.",
            "subject": self.subject,
            "key": f"drill.{self.mark}",
            "source": {"kind": "user_explicit", "uri": f"drill://sources/{self.mark}"},
            "ttl": "P1D",
        }

    def summary(self, of: MemoryId, on: str) -> dict[str, Any]:
        """What was built on the record ``of``, and is held on somebody else: ``on``."""
        return {
            "statement": f"Where the {self.summary_word} sings, another one listens in this drill.",
            "subject": on,
            "derived_from": [{"memory_id": of, "version": 1}],
            "source": {"kind": "user_explicit", "uri": f"drill://summaries/{self.mark}"},
            "ttl": "P1D",
        }

    @property
    def canaries(self) -> tuple[Wanted, ...]:
        """Each text on its own: what stands in the clear by design (tenant, agent, purpose) is none of them."""
        line = self.line
        texts = {"statement": line["statement"], "word": self.word, "subject": self.subject}
        texts |= {"claim key": line["key"], "source": line["source"]["uri"]}
        texts |= {"summary": self.summary(MemoryId(""), "")["statement"], "summary's word": self.summary_word}
        return tuple(Wanted(kind, text) for kind, text in texts.items())


def public_key(plan: Plan, settings: Settings) -> bytes:
    """The key that receipts must be signed with. Raises `StepFailed` where there is none to be had."""
    if plan.key is None and settings.attest_key is None:
        raise StepFailed("no public key: give it with --key, as `eunoe receipt key` prints it")
    if plan.key is None and settings.attest_key is not None:
        return control_signer(settings.attest_key).verifier().public
    try:
        return base64.b64decode(plan.key or "", validate=True)
    except binascii.Error:
        raise StepFailed("the public key is not Base64") from None
