"""Whether what a command brings in was signed by somebody whom the policy trusts to vouch for it.

The signature covers the plain text and names, so it can only be checked where the body was opened.
"""

from eunoe.crypto.exports import RESTORED_FACT, signed_export_bytes
from eunoe.crypto.keyring import Keyring
from eunoe.crypto.signatures import Ed25519Verifier
from eunoe.schemas.canonical import canonical
from eunoe.schemas.canonical_json import canonical_json
from eunoe.schemas.commands import MemoryBody, RestoreMemory
from eunoe.schemas.policy import Policy
from eunoe.schemas.restoring import restored_bytes, restored_statement


def is_proven(command: RestoreMemory, body: MemoryBody | None, policy: Policy) -> bool:
    """Whether a trusted signer signed this fact, with this text, of this tenant, for the log that the proof says."""
    proof = command.proof
    public = None if proof is None else policy.import_keys.get(proof.signer)
    if proof is None or public is None:
        return False
    said = restored_bytes(command.tenant, command.memory_id, command.draft, body, command.restored)
    signed = signed_export_bytes(RESTORED_FACT, proof.log_id, said)
    return Ed25519Verifier(public, proof.signer).verify(signed, proof.signature)


async def is_proven_of(keyring: Keyring, command: RestoreMemory, body: MemoryBody, policy: Policy) -> bool:
    """`is_proven`, and the signed names are those of the people whom the draft's pseudonyms stand for here."""
    if command.draft is None or not is_proven(command, body, policy):
        return False
    keys = await keyring.tenant(command.tenant)
    named = (keys.pseudonym(body.subject), tuple(keys.pseudonym(each) for each in body.about))
    return named == (command.draft.subject, command.draft.about)


def restored_payload(command: RestoreMemory, body: MemoryBody | None) -> bytes:
    """What makes two requests to bring in a fact the same: the fact, whatever it was salted with."""
    said = restored_statement(command.tenant, command.memory_id, command.draft, body, command.restored)
    return canonical("eunoe/payload/1", type(command).__name__, canonical_json(said))
