import base64
import hmac
import json
import os
from pathlib import Path

import pytest

from eunoe.crypto.errors import KekUnusable, RetiredKek, SealBroken, WrongKek
from eunoe.crypto.kek import LocalKek, create_key_file, read_key_file, read_key_variable
from eunoe.crypto.kek_ring import KekRing

KEY = bytes(range(32))
TEXT = base64.b64encode(KEY).decode()


def private_file(path: Path, content: str) -> Path:
    path.touch(mode=0o600)
    path.write_text(content)
    return path


def test_what_was_wrapped_unwraps_only_with_its_aad() -> None:
    kek = LocalKek(KEY)
    wrapped = kek.wrap(b"k" * 32, b"place")
    assert kek.unwrap(wrapped, b"place") == b"k" * 32
    with pytest.raises(SealBroken):
        kek.unwrap(wrapped, b"elsewhere")
    with pytest.raises(SealBroken):
        kek.unwrap(wrapped[:-1] + bytes([wrapped[-1] ^ 1]), b"place")


def test_a_wrong_kek_is_named_with_both_ids() -> None:
    right, wrong = LocalKek(KEY), LocalKek(bytes(32))
    with pytest.raises(WrongKek) as caught:
        wrong.unwrap(right.wrap(b"k" * 32, b""), b"")
    assert (caught.value.expected, caught.value.found) == (right.kek_id, wrong.kek_id)


def test_the_id_is_stable_and_is_no_part_of_the_key() -> None:
    assert LocalKek(KEY).kek_id == LocalKek(KEY).kek_id == "kek-c21618b3a43fc538"
    by_hand = hmac.digest(KEY, b"s\x00\x00\x00\x0eeunoe/kek/id/1\x01", "sha256")  # HKDF-Expand, spelled out
    assert LocalKek(KEY).kek_id == f"kek-{by_hand[:8].hex()}"
    assert KEY.hex()[:16] not in LocalKek(KEY).kek_id


def test_retired_keks_still_unwrap_and_the_current_one_wraps() -> None:
    old, new, foreign = LocalKek(KEY), LocalKek(bytes(32)), LocalKek(b"f" * 32)
    both = KekRing((old, new))
    assert both.kek_id == old.kek_id
    both.follow(new.kek_id)
    assert (both.kek_id, both.held, both.others) == (new.kek_id, (old.kek_id, new.kek_id), (old.kek_id,))
    assert both.unwrap(old.wrap(b"k" * 32, b"a"), b"a") == b"k" * 32
    assert new.unwrap(both.wrap(b"k" * 32, b"a"), b"a") == b"k" * 32
    with pytest.raises(WrongKek):
        old.unwrap(both.wrap(b"k" * 32, b"a"), b"a")
    with pytest.raises(WrongKek) as caught:
        both.unwrap(foreign.wrap(b"k" * 32, b"a"), b"a")
    assert caught.value.expected == foreign.kek_id


def test_past_the_fence_the_retired_kek_neither_wraps_nor_unwraps() -> None:
    old, new = LocalKek(KEY), LocalKek(bytes(32))
    ring, before = KekRing((old, new)), old.wrap(b"k" * 32, b"a")
    ring.follow(new.kek_id)
    assert ring.unwrap(before, b"a") == b"k" * 32
    ring.follow(new.kek_id, retired=old.kek_id)
    with pytest.raises(RetiredKek, match=old.kek_id):
        ring.unwrap(before, b"a")
    assert not ring.opens(old.kek_id)
    assert ring.with_retired().unwrap(before, b"a") == b"k" * 32, "to wrap anew what is left"
    ring.follow(old.kek_id, retired=old.kek_id)
    with pytest.raises(RetiredKek):
        ring.wrap(b"k" * 32, b"a")


def test_a_dropped_kek_is_held_no_more_and_one_that_must_wrap_has_to_be_held() -> None:
    old, new = LocalKek(KEY), LocalKek(bytes(32))
    ring = KekRing((old, new))
    ring.follow(new.kek_id, dropped=old.kek_id)
    assert ring.held == (new.kek_id,)
    with pytest.raises(WrongKek):
        ring.unwrap(old.wrap(b"k" * 32, b"a"), b"a")
    alone = KekRing((old,))
    with pytest.raises(WrongKek, match=new.kek_id):
        alone.follow(new.kek_id)
    with pytest.raises(WrongKek):
        alone.wrap(b"k" * 32, b"a")


def test_a_created_key_file_is_private_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "kek"
    mask = os.umask(0)
    try:
        made = create_key_file(path)
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_key_file(path).kek_id == made.kek_id
    assert os.listdir(tmp_path) == ["kek"]


def test_an_existing_key_file_is_never_overwritten(tmp_path: Path) -> None:
    made = create_key_file(tmp_path / "kek")
    with pytest.raises(KekUnusable, match="never overwritten"):
        create_key_file(tmp_path / "kek")
    assert read_key_file(tmp_path / "kek").kek_id == made.kek_id
    assert os.listdir(tmp_path) == ["kek"]


def test_a_folder_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(KekUnusable, match="cannot be written"):
        create_key_file(tmp_path / "absent" / "kek")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_key_file_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    path = private_file(tmp_path / "kek", TEXT)
    assert read_key_file(path).kek_id == LocalKek(KEY).kek_id
    path.chmod(mode)
    with pytest.raises(KekUnusable, match="chmod 600"):
        read_key_file(path)


def test_line_json_and_variable_give_the_same_key(tmp_path: Path) -> None:
    expected = LocalKek(KEY).kek_id
    as_json = json.dumps({"kek": TEXT})
    assert read_key_file(private_file(tmp_path / "line", TEXT + "\n")).kek_id == expected
    assert read_key_file(private_file(tmp_path / "json", as_json)).kek_id == expected
    assert read_key_variable({"EUNOE_KEK": TEXT}).kek_id == expected
    assert read_key_variable({"EUNOE_KEK": as_json}).kek_id == expected


@pytest.mark.parametrize(
    "content",
    ["", "not base64!", TEXT[:-4], TEXT + TEXT, "{", '{"kek": 5}', '{"key": "x"}', "[]", '{"kek": "c2VjcmV0"}', "ключ"],
)
def test_a_malformed_key_is_refused_without_being_quoted(tmp_path: Path, content: str) -> None:
    path = private_file(tmp_path / "kek", content)
    with pytest.raises(KekUnusable) as caught:
        read_key_file(path)
    assert str(path) in str(caught.value)
    assert TEXT[:8] not in str(caught.value)
    assert "c2VjcmV0" not in str(caught.value)
    with pytest.raises(KekUnusable, match="EUNOE_KEK"):
        read_key_variable({"EUNOE_KEK": content})


def test_what_is_absent_is_named(tmp_path: Path) -> None:
    with pytest.raises(KekUnusable, match="absent"):
        read_key_file(tmp_path / "absent")
    with pytest.raises(KekUnusable, match="EUNOE_KEK: is not set"):
        read_key_variable({})
