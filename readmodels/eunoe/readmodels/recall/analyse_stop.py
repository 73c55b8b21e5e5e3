"""Words that carry grammar and no subject: never indexed, never searched for.

The English list covers what questions are made of (question words, auxiliaries, pronouns), because a memory is a
statement and a query is often a question. "may" stays a word: it is also a month. The lists for scripts written
without spaces hold single particles only; what they miss is dampened by its inverse document frequency.
"""

from typing import Final


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


ENGLISH: Final = _listed("""
    a an the this that these those such
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves
    who whom whose which what when where why how whoever whatever whichever whenever wherever
    am is are was were be been being do does did doing done have has had having
    can ca could shall sha should will wo would might must ought ai
    and or but nor if then else than because while until although though whether unless since so
    of at by for with about against between into through during before after above below to from up down in out on
    off over under again once upon within without toward towards onto along among around across per via
    not no yes there here also just only very too both each any some all few more most other own same
    as now s t d m ll re ve don didn doesn isn aren wasn weren hasn haven hadn
""")

RUSSIAN: Final = _listed("""
    и а но да или либо ни не же бы ли то как что чтобы если когда пока хотя потому поэтому так тоже также
    в во на с со к ко у о об обо от ото до из изо за по под над при про для без через между перед около после
    я меня мне мной мы нас нам нами ты тебя тебе тобой вы вас вам вами он его ему им нем она ее ей ею они их ими них
    мой моя мое мои твой твоя твое твои наш наша наше наши ваш ваша ваше ваши свой своя свое свои себя себе собой
    этот эта это эти этого этой этом этих тот та те того той том тех такой такая такое такие
    кто кого кому кем чего чему чем какой какая какое какие какого где куда откуда почему зачем сколько чей
    есть был была было были быть будет будут будем весь вся все всех всего сам сама само сами
    уже еще только лишь даже очень там тут здесь вот ведь ну бывает
""")

HAN_AND_KANA: Final = _listed("""
    の は が を に で と も か へ や た て だ し な よ ね ば から まで です ます でした ました する
    した いる ある これ それ
    的 了 是 在 吗 呢 吧 啊 和 与 也 都 就 我 你 他 她 它 们 我们 你们 他们 她们 这 那 什么 谁 哪 哪里 怎么 不 有
    我們 你們 他們 她們 這 與 嗎 什麼 誰 哪裡 怎麼
""")

THAI: Final = _listed("ที่ และ ของ เป็น ใน มี ได้ ให้ ว่า ไม่ จะ ก็ กับ แต่ หรือ คือ นี้ นั้น อะไร ใคร ไหน ครับ ค่ะ คะ")

KOREAN: Final = _listed(
    "나 너 저 그 이 것 수 및 또는 그리고 누가 무엇 무엇을 어디 어디에 언제 왜 어떻게 있다 있는 하는 한다"
)

KOREAN_PARTICLES: Final = tuple(
    sorted(
        _listed("에서는 에서 에게 에는 으로 까지 부터 처럼 보다 이나 한테 하고 은 는 이 가 을 를 의 에 로 와 과 도 만"),
        key=lambda particle: (-len(particle), particle),
    )
)
"""Case particles written onto the noun, longest first: Korean is spaced by phrase, so a noun seldom stands bare."""
