"""Which step of a rotation may follow which, and that no one person destroys a KEK."""

import base64
from dataclasses import replace as with_fields

import pytest
from msgspec.structs import replace

from eunoe.crypto.signatures import Ed25519Signer
from eunoe.runtime.agreement import owner_of
from eunoe.runtime.kek_rotation import approved_by, check_step
from eunoe.runtime.principals import sample_development_policy
from eunoe.schemas.control import Approval, BackupTried, KekRotation, RotationStage
from eunoe.schemas.ids import LogId, Millis, PrincipalName, SecretId
from eunoe.schemas.policy import Policy, SecretRef
from eunoe.schemas.values import Algorithm

LOG = LogId("log-1")
OLD, NEW, THIRD = "kek-" + "0" * 16, "kek-" + "1" * 16, "kek-" + "2" * 16
BEGUN = KekRotation(rotation="r-1", stage=RotationStage.WRAPPING, retires=OLD, wraps=NEW, receipts=(3, 0))
BARE = replace(BEGUN, stage=RotationStage.FENCED, fence=(40, 12), log_fence=(90, 30), fenced_at=Millis(3))
FENCED = replace(BARE, backup=BackupTried(at=Millis(4), keys=20, facts=110, bodies=9))
SIGNERS = {name: Ed25519Signer(SecretId(f"{name}-1"), name.encode().ljust(32, b"-")) for name in ("ines", "omar")}


def policy(two_people: bool = True, omars_owner: str = "audit") -> Policy:
    base = sample_development_policy()
    officer = base.principals[PrincipalName("dev-officer")]
    people = {}
    for name, owner in (("ines", "privacy"), ("omar", omars_owner)):
        public = base64.b64encode(SIGNERS[name].verifier().public).decode()
        ref = SecretRef(secret_id=SecretId(f"{name}-1"), algorithm=Algorithm.ED25519, reference=public)
        people[PrincipalName(name)] = with_fields(officer, name=PrincipalName(name), owner=owner, secrets=(ref,))
    erasure = with_fields(base.erasure, two_people=two_people)
    return with_fields(base, principals={**base.principals, **people}, erasure=erasure)


def agreed(name: str, step: KekRotation = FENCED) -> Approval:
    signer = SIGNERS[name]
    blank = Approval(
        principal=PrincipalName(name), secret_id=signer.secret_id, at=Millis(5), signature=b"", said="no copy"
    )
    return replace(blank, signature=signer.sign(approved_by(step, LOG)(blank)))


def destroying(*approvals: Approval) -> KekRotation:
    return replace(FENCED, stage=RotationStage.DESTROYING, approvals=approvals)


def test_the_steps_follow_each_other() -> None:
    check_step(None, BEGUN, policy(), LOG)
    check_step(BEGUN, BARE, policy(), LOG)
    check_step(BARE, FENCED, policy(), LOG)
    both = destroying(agreed("ines"), agreed("omar"))
    check_step(FENCED, both, policy(), LOG)
    done = replace(both, stage=RotationStage.DESTROYED, evidence="operator attests", attested="no copy")
    check_step(both, done, policy(), LOG)
    check_step(done, replace(BEGUN, rotation="r-2", retires=NEW, wraps=THIRD), policy(), LOG)
    back = replace(BEGUN, rotation="r-3", retires=NEW, wraps=OLD)
    check_step(done, back, policy(), LOG, frozenset({THIRD}))  # the control
    with pytest.raises(ValueError, match="does not come back"):
        check_step(done, back, policy(), LOG, frozenset({THIRD, OLD}))
    with pytest.raises(ValueError, match="stay the same"):
        check_step(both, replace(done, approvals=both.approvals[:1]), policy(), LOG)
    with pytest.raises(ValueError, match="who says"):
        check_step(both, replace(done, attested=None), policy(), LOG)


@pytest.mark.parametrize("stage", [each for each in RotationStage if each is not RotationStage.DESTROYED])
def test_a_second_rotation_beside_one_is_refused(stage: RotationStage) -> None:
    with pytest.raises(ValueError, match="under way"):
        check_step(replace(FENCED, stage=stage), replace(BEGUN, rotation="r-2"), policy(), LOG)


def test_no_step_is_left_out_and_none_is_of_another_rotation() -> None:
    for before in (None, BEGUN):
        with pytest.raises(ValueError, match="does not follow"):
            check_step(before, destroying(agreed("ines"), agreed("omar")), policy(), LOG)
    with pytest.raises(ValueError, match="does not follow"):
        check_step(BEGUN, replace(FENCED, rotation="r-2"), policy(), LOG)
    with pytest.raises(ValueError, match="does not move"):
        check_step(FENCED, replace(FENCED, fence=(41, 12)), policy(), LOG)


def test_nothing_is_destroyed_without_a_backup_that_was_tried_after_the_fence() -> None:
    asked = replace(destroying(agreed("ines", BARE), agreed("omar", BARE)), backup=None)
    with pytest.raises(ValueError, match="no backup"):
        check_step(BARE, asked, policy(), LOG)
    both = destroying(agreed("ines"), agreed("omar"))
    with pytest.raises(ValueError, match="no backup"):
        check_step(BARE, both, policy(), LOG)  # named in the step alone: no process recorded that it was tried
    with pytest.raises(ValueError, match="after the fence"):
        check_step(BEGUN, replace(BARE, backup=BackupTried(at=Millis(2))), policy(), LOG)
    other = replace(FENCED, backup=BackupTried(at=Millis(5), keys=19, facts=110, bodies=9))
    with pytest.raises(ValueError, match="agreed: 0"):
        check_step(other, replace(both, backup=other.backup), policy(), LOG)  # they agreed to the other one
    check_step(FENCED, both, policy(), LOG)


@pytest.mark.parametrize(
    ("approvals", "rules"),
    [
        ((), policy()),
        ((agreed("ines"),), policy()),
        ((agreed("ines"), agreed("ines")), policy()),
        ((agreed("ines"), agreed("omar")), policy(omars_owner="privacy")),
        ((), policy(two_people=False)),
        ((agreed("ines"), agreed("omar")), None),
    ],
)
def test_one_person_or_one_owner_is_not_enough(approvals: tuple[Approval, ...], rules: Policy | None) -> None:
    with pytest.raises(ValueError, match=r"different owners|no person"):
        check_step(FENCED, destroying(*approvals), rules, LOG)


def test_where_the_policy_relaxes_it_one_person_is() -> None:
    check_step(FENCED, destroying(agreed("ines")), policy(two_people=False), LOG)


def test_an_approval_counts_for_its_rotation_and_by_its_own_signature_alone() -> None:
    other = agreed("ines", replace(FENCED, rotation="r-0"))
    forged = replace(agreed("omar"), principal=PrincipalName("ines"), secret_id=SecretId("ines-1"))
    other_words = replace(agreed("ines"), said="two copies")
    for bad in (other, forged, other_words):
        with pytest.raises(ValueError, match="agreed: 1"):
            check_step(FENCED, destroying(bad, agreed("omar")), policy(), LOG)
        # It stops nobody else either: who agreed may have left since.
        check_step(FENCED, destroying(bad, agreed("omar"), agreed("ines")), policy(), LOG)


def test_a_service_and_whoever_may_not_erase_do_not_count() -> None:
    for name in ("dev-agent", "dev-reviewer"):
        approval = replace(agreed("ines"), principal=PrincipalName(name))
        with pytest.raises(ValueError, match=r"no person|may not erase"):
            owner_of(approval, approved_by(FENCED, LOG), policy())
        with pytest.raises(ValueError, match="agreed: 1"):
            check_step(FENCED, destroying(approval, agreed("omar")), policy(), LOG)
