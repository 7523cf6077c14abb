"""The words that say who somebody is, by kind: whole words, and phrases of words that do not alone.

"her" is a cue and "other" is none. "left" and "old" are anatomy and history, so only "left-handed"
and "year-old" count. Words that mean a person with their capital only ("White", "Native", "May",
"Ms") are matched with it: white cells, native valves, "may" and milliseconds are no cues.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# Kind -> pattern of one whole word, without regard to case where it has no (?-i:...).
_WORDS: Mapping[str, str] = {
    "pronoun": r"he|she|him|his|hers?|they|them|theirs?|(?:him|her|them)sel(?:f|ves)",
    "sex": r"(?:wo)?m[ae]n|(?:fe)?males?|lad(?:y|ies)|gentlem[ae]n|boys?|girls?|guys?"
    r"|(?-i:Mrs?|Ms|Miss)|sir|madam|sex|gender",
    "anatomy": r"pregnan\w*|gravid\w*|postpartum|menstru\w*|menopaus\w*|contracept\w*|prostat\w*"
    r"|psa|hcg|bhcg|ovar\w*|uterus|uterine|endometri\w*|vagin\w*|vulv\w*|testic\w*|testes|scrot\w*"
    r"|penis|penile|breasts?|hysterectom\w*|vasectom\w*|mammogra\w*|ectopic|miscarr\w*|labia\w*"
    r"|epididym\w*|obstetric\w*|gynecolog\w*|finasteride|dutasteride|estradiol|testosterone"
    r"|tamoxifen|anastrozole|letrozole",
    "family": r"wi(?:fe|ves)|husbands?|spouses?|partners?|(?:grand|step)?(?:mother|father|son"
    r"|daughter|child|parent)(?:s|ren)?|mom|dad|sisters?|brothers?|siblings?|aunts?|uncles?"
    r"|nephews?|nieces?|widow\w*|married|divorced?|unmarried|bachelor|fianc\w+|girlfriends?"
    r"|boyfriends?|famil(?:y|ies)",
    "age": r"aged|ages?|elderly|geriatric\w*|young\w*|teen\w*|adolescen\w*|born|birth\w*|infant"
    r"|toddler|pediatric\w*|octogenarian|nonagenarian|septuagenarian|senior",
    "race": r"(?-i:White|Black|Native|Indian|Indigenous|Brown)|hispanic|latin[aox]|african\w*"
    r"|(?-i:American)|asian|caucasian|arab\w*|mexican|chinese|european|japanese|korean|vietnamese"
    r"|filipin[ao]|nigerian|ethiopian|somali|haitian|jamaican|puerto|cuban|pakistani|iranian"
    r"|syrian|russian|polish|irish|italian|greek|immigrant\w*|refugee\w*|migrant\w*|foreigners?"
    r"|undocumented|rac(?:e|ial|ially)|ethnic\w*|cherokee|navajo",
    "insurance": r"insur\w*|uninsur\w*|medicaid|medicare|copay\w*|private|payer|deductible|hmo",
    "housing": r"homeless\w*|hous(?:e|ed|ing)|unhoused|apartment|shelter|landlord|rents?"
    r"|homeowner|trailer",
    "work": r"employ\w*|unemploy\w*|occupation|jobs?|workers?|retire[sd]?|retirement|income|veteran"
    r"|students?|teacher|executive|laborer|construction|lawyer|engineer|farmer|carpenter|plumber"
    r"|cashier|waiter|waitress|professor|accountant|electrician|driver|cook|chef|janitor|banker"
    r"|college|school|degree-holder|welfare|prison\w*|inmate|incarcerat\w*",
    "language": r"english|spanish|mandarin|cantonese|portuguese|french|german|tagalog|creole"
    r"|languages?|fluent\w*|interpreters?|translat(?:or|ors|ed|es|ion)|accent",
    "religion": r"religio\w*|church|mosque|synagogue|(?-i:Christian\w*)|muslim\w*|jew(?:ish|s)?"
    r"|hindu\w*|catholic\w*|buddhis\w*|islam\w*|atheis\w*|sikh\w*|mormon\w*|protestant\w*"
    r"|evangelical\w*|jehovah\w*|kosher|halal|ramadan|rabbi|imam|priest|baptist",
    "hand": r"(?:left|right)?handed(?:ness)?",
    "month": r"(?-i:January|February|March|April|May|June|July|August|September|October|November"
    r"|December)",
    "disability": r"disab\w*|wheelchairs?|deaf\w*|handicap\w*|amputee|paraplegi\w*|quadriplegi\w*"
    r"|nonverbal|autis\w*",
    "identity": r"transgender\w*|cisgender\w*|nonbinary|non-binary|trans|genderqueer",
    "orientation": r"gay|lesbian|bisexual|(?:hetero|homo)sexual\w*|queer|lgbtq?\w*",
}
_PATTERNS = {kind: re.compile(words, re.IGNORECASE) for kind, words in _WORDS.items()}

# (words of which one stands in every match, kind, pattern)
PHRASES: tuple[tuple[frozenset[str], str, re.Pattern[str]], ...] = tuple(
    (frozenset(triggers.split()), kind, re.compile(pattern, re.IGNORECASE))
    for triggers, kind, pattern in (
        ("old yo", "age", r"\b\w+[- ]?(?:years?|yrs?|months?)[- ]old\b|\b\d+ ?y/?o\b|\bold age\b"),
        ("o", "age", r"\b\d+ ?y/o\b"),
        ("years", "age", r"\b(?:\d\d|\w+ty(?:-\w+)?) years of\b"),
        ("older", "age", r"\bolder(?= (?:adult|patient|person|man|woman|people))"),
        ("middle", "age", r"\bmiddle[- ]aged\b"),
        ("twenties thirties forties fifties sixties seventies eighties", "age", r"\b\w+ties\b"),
        ("m f", "age", r"(?<![\d.])\b[1-9]\d ?[MF]\b(?=[ ,.;] ?(?:with|presents|who|c/o))"),
        (
            "white black brown native",
            "race",
            # The noun stays outside: it may tell the sex, which is another attribute.
            r"\b(?:white|black|brown|native)(?= (?:patient|person|man|woman|male|female|gentleman"
            r"|lady|community|adult)s?\b)",
        ),
        ("lives living", "housing", r"\bliv(?:es|ing) (?:alone|with|in|on|at|outside|rough)\b"),
        ("nursing group halfway", "housing", r"\b(?:nursing|group|halfway) (?:home|house)\b"),
        ("assisted", "housing", r"\bassisted living\b"),
        (
            "couch street streets car tent encampment",
            "housing",
            r"\b(?:sleep\w*|stay\w*) (?:on|in) "
            r"(?:a |the )?(?:couch|streets?|car|tent|encampment)\b",
        ),
        ("works worked working", "work", r"\bwork(?:s|ed|ing) (?:as|at|for|in) (?:an? |the )?\w+"),
        ("self", "insurance", r"\bself[- ]pay\w*"),
        ("afford", "insurance", r"\b(?:cannot|can't|unable to|could not) afford\b"),
        ("charity", "insurance", r"\bcharity care\b"),
        (
            "dominant",
            "hand",
            r"\bdominant (?:hand|arm|side|wrist)\b|\b(?:left|right)[- ]hand "
            r"dominant\b|\bnon-?dominant\b",
        ),
        (
            "period periods",
            "anatomy",
            r"\b(?:last|menstrual|missed|heavy|painful|monthly|late) "
            r"periods?\b",
        ),
        ("lmp", "anatomy", r"\blmp\b"),
        ("pap", "anatomy", r"\bpap (?:smear|test)\b"),
        ("morning", "anatomy", r"\bmorning-after pill\b"),
        ("hearing", "disability", r"\bhearing aids?\b|\bhard of hearing\b"),
        ("blind", "disability", r"\b(?:is|legally|patient) blind\b|\bblind (?:patient|person)\b"),
        ("single", "family", r"\bsingle(?= (?:parent|mother|father|man|woman)\b)"),
    )
)


def kind_of(word: str) -> str:
    """Return the kind of cue that a word is on its own, "" for none."""
    for kind, pattern in _PATTERNS.items():
        if pattern.fullmatch(word):
            return kind
    return ""


KINDS = tuple(_WORDS)

# Words that name one sex; a text that holds both mixes them.
MALE = re.compile(r"he|him|his|himself|m[ae]n|males?|gentlem[ae]n|boy|guy|sir|mr")
FEMALE = re.compile(r"she|hers?|herself|wom[ae]n|females?|lady|ladies|girl|madam|mrs|ms|miss")
