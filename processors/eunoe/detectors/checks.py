"""What a matched text must satisfy beyond its form: check digits, and whether a word looks like a secret."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

_NOT_DIGITS: Final = re.compile(r"\D")
_JOINTS: Final = re.compile(r"[_.-]+")
_MADE_UP: Final = re.compile(r"[0-9].*[A-Za-z]|[A-Za-z].*[0-9]|[a-z].*[A-Z]")
_CARD_LENGTHS: Final = range(13, 20)
_NAMES_OF_PLACES: Final = re.compile(
    r"(?i)vault|1password|bitwarden|lastpass|keepass|keychain|https?:|\$\{|<|\*{3}|x{4}"
)


def luhn(text: str) -> bool:
    """ISO/IEC 7812-1, annex B; 13 to 19 digits that are not all the same."""
    digits = _NOT_DIGITS.sub("", text)
    if len(digits) not in _CARD_LENGTHS or len(set(digits)) == 1:
        return False
    total = 0
    for at, each in enumerate(reversed(digits)):
        value = int(each) * (1 + at % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def iban(text: str) -> bool:
    """ISO 13616-1: modulo 97 is 1."""
    plain = text.replace(" ", "").upper()
    if not 15 <= len(plain) <= 34 or not plain.isalnum():
        return False
    return int("".join(str(int(each, 36)) for each in plain[4:] + plain[:4])) % 97 == 1


def chinese_id(text: str) -> bool:
    """GB 11643-1999: ISO 7064 MOD 11-2 over 17 digits."""
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    total = sum(int(each) * weight for each, weight in zip(text[:17], weights, strict=True))
    return "10X98765432"[total % 11] == text[17].upper()


def dni(text: str) -> bool:
    """Spanish DNI and NIE: the letter is the number modulo 23."""
    plain = text.upper().replace("-", "").replace(" ", "")
    number = plain[:-1].translate(str.maketrans("XYZ", "012"))
    return number.isdecimal() and "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == plain[-1]


def snils(text: str) -> bool:
    """Russian SNILS: a weighted sum of nine digits, modulo 101, in the last two."""
    digits = _NOT_DIGITS.sub("", text)
    if len(digits) != 11:
        return False
    total = sum(int(each) * (9 - at) for at, each in enumerate(digits[:9])) % 101
    return total % 100 == int(digits[9:])


def ssn(text: str) -> bool:
    """United States: no area 000, 666 or 9xx, no group 00, no serial 0000."""
    area, group, serial = re.split(r"[- ]", text)
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def french_nir(text: str) -> bool:
    """The key is 97 minus the number modulo 97."""
    digits = _NOT_DIGITS.sub("", text)
    return len(digits) == 15 and 97 - int(digits[:13]) % 97 == int(digits[13:])


def secretive(text: str) -> bool:
    """Whether what stands after ``password:`` is one, and not a word about passwords or where they are kept."""
    text = text.strip("\"'`.,;:()[]")
    if len(text) < 5 or _NAMES_OF_PLACES.search(text):
        return False
    kinds = (
        any(each.islower() for each in text)
        + any(each.isupper() for each in text[1:])
        + any(each.isdigit() for each in text)
        + any(each in "!@#$%^&*+=?~" for each in text)
    )
    return kinds > 1 and not text.isdecimal()


def tokenlike(text: str) -> bool:
    """Whether it is a made-up string and not words joined by underscores: one part of it mixes letters and digits or
    both cases at length."""
    return secretive(text) and any(_MADE_UP.search(part) for part in _JOINTS.split(text) if len(part) >= 10)


def passport(text: str) -> bool:
    """Six to ten letters and digits, most of them digits; numbers of passports have no common check digit."""
    plain = text.replace(" ", "")
    return 6 <= len(plain) <= 10 and sum(each.isdecimal() for each in plain) >= 5


CHECKS: Final[Mapping[str, Callable[[str], bool]]] = MappingProxyType(
    {
        "luhn": luhn,
        "iban": iban,
        "chinese_id": chinese_id,
        "dni": dni,
        "snils": snils,
        "ssn": ssn,
        "french_nir": french_nir,
        "secretive": secretive,
        "tokenlike": tokenlike,
        "passport": passport,
    }
)
