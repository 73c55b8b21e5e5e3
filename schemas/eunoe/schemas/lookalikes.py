"""What a text looks like to an eye: letters of other alphabets as the Latin ones they look like.

For comparing and looking only, never for storage: it makes nonsense of honest Greek and Russian.
"""

import unicodedata
from functools import lru_cache
from typing import Final

CAPITALS: Final = str.maketrans(
    "ᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᎽᏃꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ",
    "abcdeghijklmprstvwyzbpdtgkjczfmnlsrvhwxyaeiou",
)
"""Letters of Cherokee and Lisu: Latin capitals to the eye, here as small ones."""
LETTERS: Final = {
    ord(foreign): latin
    for latin, foreigners in {
        "a": "аαɑ",
        "b": "вЬ",
        "c": "сϲ",
        "d": "ԁ",
        "e": "еεҽ",
        "g": "ɡց",
        "h": "һհн",
        "i": "іιıɩ",
        "j": "јϳ",
        "k": "кκ",
        "l": "ӏⅼ",
        "m": "м",
        "n": "ոηп",
        "o": "оοօ",
        "p": "рρ",
        "q": "ԛ",
        "r": "гᴦ",
        "s": "ѕꜱ",
        "t": "тτ",
        "u": "υսц",
        "v": "ѵν",
        "w": "ԝω",
        "x": "хχ",
        "y": "уγү",
    }.items()
    for foreign in foreigners
} | CAPITALS
"""Small letters of Cyrillic, Greek and Armenian, too."""
_SMALL_CAPITALS: Final = str.maketrans("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋᴌʟᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijkllmnopqrstuvwyz")
"""Which Unicode has as letters of phonetics, with no compatibility form."""
_READ: Final = LETTERS | _SMALL_CAPITALS
_TATWEEL: Final = "\u0640"


@lru_cache(4_096)
def seen(char: str) -> str:
    """One character without compatibility form, accents and case, as none, one or several small letters.

    Characters that nobody sees (format characters, such as zero-width ones) are none.
    """
    plain = unicodedata.normalize("NFKD", char).casefold()
    kept = (each for each in plain if each != _TATWEEL and unicodedata.category(each) not in _UNSEEN)
    return "".join(kept).translate(_READ)


_UNSEEN: Final = frozenset({"Mn", "Mc", "Me", "Cf"})


def skeleton(text: str) -> str:
    """Equal for two texts that one cannot tell apart by looking, white space and case left out of account. Linear."""
    return " ".join("".join(map(seen, text)).split())
