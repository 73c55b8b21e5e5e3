"""A policy that changes who may destroy, in an installation whose policy asks for two people."""

import base64
import re
from pathlib import Path
from typing import Final

from e2e.conftest import Program
from eunoe.crypto.secrets import secret_line
from eunoe.crypto.signatures import Algorithm, Ed25519Signer, new_secret_bytes
from eunoe.schemas.ids import SecretId
from eunoe.schemas.topics import TopicNames
from eunoe.testing.platform import install

OFFICER: Final = ("--as", "dev-officer")
SECOND: Final = ("--as", "second-officer")


def written(path: Path, text: str, version: int, title: str, two_people: bool) -> str:
    for field, value in (("version", version), ("title", f'"{title}"'), ("two_people", str(two_people).lower())):
        text, changed = re.subn(rf"(?m)^{field} = .*$", f"{field} = {value}", text)
        assert changed == 1
    path.write_text(text)
    return str(path)


async def test_the_control_key_alone_does_not_relax_it(
    kafka_bootstrap: str, redis_url: str, topic_names: TopicNames, tmp_path: Path
) -> None:
    platform = await install(kafka_bootstrap, redis_url, topic_names, tmp_path)
    eunoe = Program(platform)
    content = new_secret_bytes()
    second = Ed25519Signer(SecretId("second-1"), content)
    assert platform.settings.secrets is not None
    secret = platform.settings.secrets / "second-officer.secret"
    secret.write_text(secret_line(Algorithm.ED25519, second.secret_id, content) + "\n")
    secret.chmod(0o600)
    text = (await eunoe.json("policy", "show"))["text"] + (
        '\n[principals.second-officer]\nkind = "human"\nowner = "audit"\ntenants = "*"\nactions = ["erase", "read"]\n'
        'max_sensitivity = "restricted"\n'
        '[[principals.second-officer.secrets]]\nid = "second-1"\nalgorithm = "ed25519"\n'
        f'public_key = "{base64.b64encode(second.verifier().public).decode()}"\n'
    )
    asks = written(tmp_path / "asks.toml", text, 2, "two people", two_people=True)
    await eunoe.json("policy", "apply", asks, *OFFICER)
    relaxed = written(tmp_path / "relaxed.toml", text, 3, "one is enough", two_people=False)
    refused = await eunoe.json("policy", "apply", relaxed, *OFFICER, code=1)
    assert "2 people of different owners" in refused["message"]
    assert "agreed: 1" in refused["message"]
    assert "eunoe policy agree" in refused["message"]
    assert "may not erase" in (await eunoe.json("policy", "agree", relaxed, "--as", "dev-reviewer", code=1))["message"]
    agreed = tmp_path / "agreed.json"
    agreed.write_text(await eunoe("policy", "agree", asks, *SECOND))
    assert (
        "agreed: 1"
        in (await eunoe.json("policy", "apply", relaxed, "--agreed", str(agreed), *OFFICER, code=1))["message"]
    )
    agreed.write_text(await eunoe("policy", "agree", relaxed, *SECOND))
    found = await eunoe.json("policy", "apply", relaxed, "--agreed", str(agreed), *OFFICER)
    assert (found["version"], found["published"]) == (3, True)
    assert (await eunoe.json("policy", "show"))["title"] == "one is enough"
