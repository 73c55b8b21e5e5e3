"""Irregular English forms, which no suffix stemmer can join: *went* is a form of *go*.

Only forms whose base is another word by spelling are listed; regular ones (*walked*) are the stemmer's. A form that is
also a common word of its own (*ground*, *wound*, *bound*, *lay*) is left alone.
"""

from typing import Final

_BASE_AND_FORMS: Final = """
arise arose arisen; awake awoke awoken; bear bore borne; beat beaten; become became; begin began begun; bend bent;
bet bet; bid bade bidden; bind bound; bite bit bitten; bleed bled; blow blew blown; break broke broken; breed bred;
bring brought; build built; burn burnt; buy bought; catch caught; choose chose chosen; cling clung; come came;
creep crept; deal dealt; dig dug; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven; dwell dwelt;
eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; flee fled; fling flung; fly flew flown;
forbid forbade forbidden; foresee foresaw foreseen; forget forgot forgotten; forgive forgave forgiven;
freeze froze frozen; get got gotten; give gave given; go goes went gone; grow grew grown; hang hung; hear heard;
hide hid hidden; hold held; keep kept; kneel knelt; know knew known; lead led; leap leapt; learn learnt; leave left;
lend lent; light lit; lose lost; make made; mean meant; meet met; mistake mistook mistaken; overcome overcame; pay paid;
prove proven; ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw seen; seek sought;
sell sold; send sent; sew sewn; shake shook shaken; shine shone; shoot shot; show shown; shrink shrank shrunk;
sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoke spoken; speed sped; spell spelt;
spend spent; spin spun; spit spat; spring sprang sprung; stand stood; steal stole stolen; stick stuck; sting stung;
strike struck stricken; strive strove striven; swear swore sworn; sweep swept; swell swollen; swim swam swum;
swing swung; take took taken; teach taught; tear tore torn; tell told; think thought; throw threw thrown;
undergo underwent undergone; understand understood; undertake undertook undertaken; wake woke woken; wear wore worn;
weave wove woven; weep wept; win won; withdraw withdrew withdrawn; write wrote written;
child children; foot feet; goose geese; half halves; knife knives; leaf leaves; life lives; man men; mouse mice;
person people; shelf shelves; thief thieves; tooth teeth; wife wives; wolf wolves; woman women
"""


def _table() -> dict[str, str]:
    table: dict[str, str] = {}
    for entry in _BASE_AND_FORMS.split(";"):
        base, *forms = entry.split()
        table.update(dict.fromkeys(forms, base))
    return table


IRREGULAR: Final = _table()
"""Form to base, both in lower case: ``{"went": "go", …}``."""
