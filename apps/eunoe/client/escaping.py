r"""Text of a memory as a JSON string that a language model cannot take for a mark of its conversation (M59).

Such marks are written as JSON escapes (``system:`` as ``system\u003a``), so nothing is lost: whoever reads the JSON
gets the text back. What no reader sees (bidirectional controls, tags, zero-width and other format characters, variation
selectors) is taken out, for it can only hide something.

Marks are looked for behind compatibility forms (full-width, mathematical letters) and behind letters of other alphabets
that look Latin. The text itself keeps its letters.
"""

import json
import re
import unicodedata
from typing import Final

FENCE_NAME: Final = "eunoe-memory"
"""Begins the name of every fence. As such it is never in a field."""

# The alphabets' own signs among the format characters, which are seen: Arabic number signs and their like.
_SEEN: Final = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_UNSEEN: Final = frozenset({"Cf", "Cc", "Cs", "Co"})
_SPACES: Final = frozenset({"Zs", "Zl", "Zp"})
_JOINERS: Final = "\u200c\u200d"
_INVISIBLE: Final = re.compile(
    # Joiners belong to the spelling of Arabic and of the scripts of India, between two of their letters only.
    f"(?<![\u0600-\u0fff])[{_JOINERS}]|[{_JOINERS}](?![\u0600-\u0fff])"
    # Fillers, variation selectors and what else is drawn as nothing without being a format character.
    "|[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_LOOKALIKES: Final = {
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
        "l": "ӏⅼ",
        "m": "м",
        "n": "ոηп",
        "o": "оοօ",
        "p": "рρ",
        "r": "гᴦ",
        "s": "ѕꜱ",
        "t": "тτ",
        "u": "υսц",
        "v": "ѵν",
        "x": "хχ",
        "y": "уγү",
        ":": "ː˸։׃܃܄∶꞉",
        "<": "‹〈⟨❮ᐸ",
        ">": "›〉⟩❯ᐳ",
        "|": "ǀ∣❘│",
    }.items()
    for foreign in foreigners
}
_OTHER_ROLES: Final = (
    "система|ассистент|помощник|пользователь|человек|разработчик|инструмент"
    "|系统|系統|助手|助理|用户|用戶|开发者|工具|システム|アシスタント|ユーザー|開発者|ツール"
    "|(?:ال)?نظام|(?:ال)?مساعد|(?:ال)?مستخدم|(?:ال)?مطور"
    "|sistema|système|asistente|assistente?|usuari[oa]|usuário|utilisateur|benutzer|nutzer"
).translate(_LOOKALIKES)
"""Who speaks, in the other languages; looked for in a folded text, so folded as well."""
_ROLES: Final = (
    "system|assistant|user|human|developer|tool|function|model|ai|ipython|observation|instructions?|prompt|"
    + _OTHER_ROLES
)
_MARKS: Final = re.compile(
    rf"""
      (?P<angle>[<>])                                         # tags, and the ends of chat tokens
    | (?P<bar>(?<=<)\||\|(?=>))                               # <|im_start|>
    | (?<![a-z0-9_])(?:{_ROLES})[\s*_"']*(?P<colon>:)         # somebody speaks, however it is set off
    | (?P<bracket>\[)(?=/?\s*(?:[a-z]+_[a-z_]+|inst|sys|{_ROLES})\s*\])  # [INST], [TOOL_CALLS], [system]
    | (?P<heading>\#)(?=\#{{0,6}}[\s*_]{{0,8}}(?:{_ROLES})\b)             # a heading that names a role
    | (?P<code>[`~])(?=(?P=code){{2}})                        # code fences
    | (?<=eunoe)(?P<name>[^a-z0-9])(?=[^a-z0-9]{{0,2}}memory)  # our own fence
    """,
    re.VERBOSE,
)


def escaped(text: str) -> str:
    """``text`` between the quotes of a JSON string: on one line, without marks, without what is not seen."""
    clean = visible(text)
    written: list[str] = []
    end = 0
    for mark in _MARKS.finditer(folded(clean)):
        at = mark.start(mark.lastgroup or 0)
        written += (json.dumps(clean[end:at], ensure_ascii=False)[1:-1], _escape(clean[at]))
        end = at + 1
    written.append(json.dumps(clean[end:], ensure_ascii=False)[1:-1])
    return "".join(written)


def visible(text: str) -> str:
    """``text`` without what no reader sees; line ends are line feeds, other separators are spaces."""
    if text.isascii() and text.isprintable():
        return text
    lines = re.sub("\r\n?|[\u0085\u2028\u2029]", "\n", text)
    return "".join(filter(None, map(_shown, _INVISIBLE.sub("", lines))))


def folded(text: str) -> str:
    """A text of the same length to look for marks in: small Latin letters where one reads Latin letters."""
    return "".join(map(_fold, text)).translate(_LOOKALIKES)


def _shown(char: str) -> str:
    if char in "\n\t" or char in _SEEN or char in _JOINERS:
        return char
    category = unicodedata.category(char)
    if category in _SPACES:
        return " "
    return "" if category in _UNSEEN else char


def _fold(char: str) -> str:
    """One character for one: what would become several stays as it is, so that places stay the same."""
    if char.isascii():
        return char.lower()
    plain = unicodedata.normalize("NFKC", char)
    small = plain.lower() if len(plain) == 1 else char
    return small if len(small) == 1 else char


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if char.isascii() else json.dumps(char)[1:-1]
