"""One set of rules for documents and queries, in every script (M65)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.readmodels.recall.analyse import Analyser, Term, UnknownLanguage, Unusable
from eunoe.readmodels.recall.analyse_words import LoneSurrogate, cut, fold, segment

ANALYSER = Analyser()


def found(statement: str, query: str, analyser: Analyser = ANALYSER) -> bool:
    """Whether the query shares a term with the statement."""
    held = {term for term, _ in analyser.document(statement).counts}
    return any(term in held for term, _ in analyser.query(query).weights)


ASCII = st.text(st.characters(max_codepoint=127), max_size=60)
LIKE_A_SENTENCE = st.lists(
    st.sampled_from(
        ["u.s", "don't", "1,000", "3.5", "a:b", "x;y", "ab", "7", "ok.", "e.g.,", "--", "'q'", "(z)", "a_b", "!"]
    )
).map(" ".join)


@given(ASCII | LIKE_A_SENTENCE)
def test_the_short_way_cuts_words_as_icu_does(text: str) -> None:
    assert segment(fold(text)) == cut(fold(text))


@pytest.mark.parametrize(
    ("statement", "query", "stranger"),
    [
        ("Предпочитает доставку после 18:00", "когда удобны доставки?", "оплата картой"),
        ("Её зовут Алёна, живёт в Йошкар-Оле", "Алена", "Ольга"),
        ("我们喜欢在北京吃烤鸭", "北京的烤鸭", "上海的天气"),
        ("客户要求下午六点以后送货", "什么时候送货？", "退款政策"),
        ("東京都に引っ越しました", "東京に住んでいますか", "大阪の天気は"),
        ("コーヒーが好きです", "コーヒー", "紅茶を飲みます"),
        ("서울에서 고양이를 키운다", "서울 고양이", "부산에서 강아지를"),
        ("배송은 저녁에 받고 싶어 합니다", "배송 시간", "결제 방법"),
        ("ลูกค้าชอบกินข้าวผัดกุ้ง", "ข้าวผัด", "รถไฟฟ้า"),
        ("Vive à Genève près du café Müller", "geneve cafe muller", "zurich bahnhof"),
        ("Mieszka w Łodzi, ulica Świętojańska", "lodzi swietojanska", "krakow"),
        ("Kører på Ærø med en smørrebrødsvogn", "AERO smorrebrodsvogn", "odense"),
        ("Nutzt die Straße nach Süden", "STRASSE suden", "norden"),
        ("Заказал iPhone 15 через приложение 東京ストア", "iphone 東京", "android 大阪"),
        ("Full-width ＡＣＭＥ ｃｏｒｐ", "acme corp", "other firm"),
        ("Μένει στην Αθήνα", "Αθήνα", "Θεσσαλονίκη"),
    ],
)
def test_a_statement_is_found_in_its_own_script_and_not_by_a_stranger(
    statement: str, query: str, stranger: str
) -> None:
    assert found(statement, query)
    assert not found(statement, stranger)


@pytest.mark.parametrize(
    ("statement", "query"),
    [
        ("She went to Berlin", "Where does she go?"),
        ("The children's bicycles were stolen", "steal a child's bicycle"),
        ("Adopted a dog", "adoption"),
        ("Paid 1,000 euros on 2023-05-07", "1000 euros"),
        ("Paid on 2023-05-07", "the 7th of the month"),
        ("Delivery after 18:00", "18 o'clock"),
        ("Calls create_ticket for every complaint", "ticket complaints"),
        ("Doesn’t eat fish", "eats fish"),
        ("Comes from the U.S. originally", "u.s origin"),
        ("It ended.Next came the invoice", "ended"),
        ("L'été dernier à Paris", "ete"),
        ("Prefers may for holidays", "May"),
    ],
)
def test_forms_of_a_word_and_of_a_number_meet(statement: str, query: str) -> None:
    assert found(statement, query)


@pytest.mark.parametrize(
    ("statement", "query", "stranger"),
    [("냉장고수리를 예약했다", "냉장고 고장", "자동차 고장"), ("図書館で働く", "図書を返す", "映画を見る")],
)
def test_pairs_of_characters_find_a_word_inside_another(statement: str, query: str, stranger: str) -> None:
    assert found(statement, query)
    assert not found(statement, stranger)


def test_letters_that_only_look_accented_keep_their_sense() -> None:
    assert not found("йод", "иод")
    assert not found("がく", "かく")


def test_the_language_decides_how_latin_words_are_stemmed() -> None:
    german = Analyser(language="de")
    assert found("Er kauft zwei Häuser", "Haus kaufen", german)
    assert not found("Die Stühle", "who", german)
    with pytest.raises(UnknownLanguage) as refused:
        Analyser(language="xx")
    assert refused.value.language == "xx"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("", Unusable.NO_WORDS),
        ("  ?! … 😀", Unusable.NO_WORDS),
        ("Who are you?", Unusable.ONLY_STOP_WORDS),
        ("кто ты", Unusable.ONLY_STOP_WORDS),
        ("是什么", Unusable.ONLY_STOP_WORDS),
    ],
)
def test_a_query_without_a_usable_term_is_empty_and_says_why(query: str, reason: Unusable) -> None:
    terms = ANALYSER.query(query)
    assert terms.weights == ()
    assert terms.unusable is reason


def test_a_usable_query_gives_no_reason_and_weights_parts_below_words() -> None:
    terms = ANALYSER.query("adoption agencies")
    assert terms.unusable is None
    weights = dict(terms.weights)
    assert weights[Term("w:adopt")] == 1.0
    assert weights[Term("p:adopt")] == ANALYSER.part_weight


def test_a_lone_surrogate_is_refused_without_the_text() -> None:
    with pytest.raises(LoneSurrogate) as refused:
        ANALYSER.document("secret \ud800 plan")
    assert refused.value.position == 7
    assert "secret" not in repr(refused.value)
    assert refused.value.__cause__ is None


def test_counts_and_length_leave_stop_words_out() -> None:
    terms = ANALYSER.document("The cat and the other cats of a neighbour")
    assert terms.length == 3
    assert dict(terms.counts)[Term("w:cat")] == 2


def test_what_one_text_may_cost_is_bounded_and_marked() -> None:
    small = Analyser(longest_text=100, most_words=5, longest_word=8)
    assert not small.document("four short words here").clipped
    assert small.document("word " * 21).clipped
    many = small.document("alpha beta gamma delta epsilon zeta")
    assert many.clipped
    assert many.length == 5
    assert small.query("x" * 101).clipped
    assert all(len(term) <= 2 + 8 for term, _ in small.document("abcdefghijklmnop").counts)


def test_the_version_names_rules_libraries_language_and_limits() -> None:
    version = ANALYSER.version
    assert version.startswith("eunoe-")
    assert "/icu-" in version
    assert "/snowball-" in version
    assert version != Analyser(language="fr").version
    assert version != Analyser(prefix=6).version
    assert version == Analyser().version


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_any_text_finds_itself_or_has_no_word(text: str) -> None:
    document, query = ANALYSER.document(text), ANALYSER.query(text)
    assert {term for term, _ in document.counts} == {term for term, _ in query.weights}
    assert (query.unusable is None) == bool(query.weights)
    assert all(count > 0 for _, count in document.counts)
    assert all(len(term) > 2 for term, _ in document.counts)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=100))
def test_case_changes_nothing_once_folded(text: str) -> None:
    assert ANALYSER.document(text.casefold()) == ANALYSER.document(text.casefold().casefold())


@pytest.mark.parametrize(
    ("seen", "with_more"),
    [
        ("box", "box\u202e"),
        ("box", "\ufeffbox"),
        ("box", "b\u00adox"),
        ("box", "bo\u200bx"),
        ("box", "\u2066box\u2069"),
        ("box", "b\u034fo\ufe0fx\U000e0041"),
        ("שלום", "שלום\u200f"),
        ("می\u200cخواهم", "میخواهم"),
    ],
)
def test_what_nobody_sees_makes_no_other_word(seen: str, with_more: str) -> None:
    for statement, query in ((seen, with_more), (with_more, seen), (with_more, with_more)):
        assert found(f"the {statement} there", query), (statement, query)
    assert not found(f"the {with_more} there", "crate"), "the control"


def test_only_what_nobody_sees_is_no_word() -> None:
    assert ANALYSER.query("\u200f\u200b\ufeff").unusable is Unusable.NO_WORDS
