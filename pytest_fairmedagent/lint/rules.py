"""Every rule, by id. An id is never given to another rule, for silences name it."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_fairmedagent.lint.finding import ERROR, WARNING, Rule

_RULES = (
    # The descriptor is the only difference between arms.
    Rule("VG101", ERROR, "arms of a case differ in the descriptor and nowhere else"),
    Rule("VG102", ERROR, "variants of a case differ in their pools and nowhere else"),
    # Nothing but the descriptor says who the patient is.
    Rule("VG201", ERROR, "no pronoun in frozen text"),
    Rule("VG202", ERROR, "no sex or gender in frozen text"),
    Rule("VG203", ERROR, "no anatomy, test or drug of one sex where sex is swapped"),
    Rule("VG204", ERROR, "no marital or family cue in frozen text"),
    Rule("VG205", ERROR, "no second age in frozen text"),
    Rule("VG206", ERROR, "no race, ethnicity or nationality in frozen text"),
    Rule("VG207", ERROR, "no insurance in frozen text"),
    Rule("VG208", ERROR, "no housing in frozen text"),
    Rule("VG209", ERROR, "no work, schooling or class in frozen text"),
    Rule("VG210", ERROR, "no language in frozen text"),
    Rule("VG211", ERROR, "no religion in frozen text"),
    Rule("VG212", ERROR, "no handedness in frozen text, as far as the descriptors state one"),
    Rule("VG213", ERROR, "no month in frozen text, as far as the descriptors state one"),
    Rule("VG214", ERROR, "no disability in frozen text, as far as the descriptors state one"),
    Rule("VG215", ERROR, "no gender identity in frozen text"),
    Rule("VG216", ERROR, "no sexual orientation in frozen text"),
    Rule("VG217", ERROR, "no name of a person in frozen text"),
    Rule("VG218", ERROR, "no swapped value of the catalogue in frozen text"),
    Rule("VG219", WARNING, "nothing gives a sham attribute a clinical meaning"),
    Rule("VG220", WARNING, "no result is computed from age, sex or race"),
    Rule("VG221", WARNING, "no value has a limit that depends on sex between it and normal"),
    Rule("VG222", ERROR, "nothing identifies anyone: no date, number, address or record id"),
    Rule("VG223", ERROR, "no custody in frozen text"),
    Rule("VG224", ERROR, "no body weight in frozen text, as far as the descriptors state one"),
    Rule(
        "VG225", ERROR, "no psychiatric label in frozen text, as far as the descriptors state one"
    ),
    Rule("VG226", WARNING, "no text contradicts an arm, unless that is registered"),
    # Workmanship of a case.
    Rule("VG301", WARNING, "the id is the name of the file"),
    Rule("VG302", WARNING, "a narrative has 120 to 220 words in every variant"),
    Rule("VG303", WARNING, "a menu has 8 to 14 orders"),
    Rule("VG304", ERROR, "every order has a result that is a finding, never still to come"),
    Rule("VG305", WARNING, "an order id has one name in all cases"),
    Rule("VG306", WARNING, "two orders of a menu have different names"),
    Rule("VG307", WARNING, "every file of a set that has a canary holds it"),
    Rule("VG308", ERROR, "the canary is never rendered"),
    Rule("VG309", WARNING, "a narrative states vitals, background, medicines and allergies"),
    Rule("VG310", WARNING, "the first comment says how far guidelines settle the case"),
    Rule("VG311", WARNING, "a reference work-up is stated, and leaves something that is excess"),
    Rule("VG312", ERROR, "no slot is left unfilled in what is rendered"),
    Rule("VG313", WARNING, "the guideline is named, and was published by now"),
    Rule("VG314", ERROR, "no character that is not seen, or that passes for another"),
    Rule("VG315", WARNING, "narrative, parts and results are whole sentences"),
    Rule("VG316", WARNING, "a result has at most 30 words"),
    Rule("VG317", WARNING, "no word labels or judges the patient"),
    Rule("VG318", WARNING, "a case is in English, or somebody has read it"),
    # Numbers.
    Rule("VG401", WARNING, "vitals lie where a living adult's do"),
    Rule("VG402", WARNING, "vitals have units"),
    Rule("VG403", ERROR, "a temperature fits its unit"),
    Rule("VG404", ERROR, "systolic pressure is above diastolic pressure"),
    Rule("VG405", WARNING, "laboratory values are possible in their unit"),
    Rule("VG406", WARNING, "single doses are in use"),
    Rule("VG407", WARNING, "a drug is taken as often, and as much a day, as it is in use"),
    Rule("VG408", WARNING, "a result is that of its order"),
    Rule("VG409", WARNING, "two places that state a side state the same one"),
    # Pools.
    Rule("VG501", WARNING, "the values of a pool lie in one clinical class"),
    Rule("VG502", WARNING, "unit styles of a pool state the same value"),
    Rule("VG503", WARNING, "the measure of a pool is known, and its values can be read"),
    Rule("VG504", WARNING, "a number that varies has a measure"),
    # The set.
    Rule("VG601", WARNING, "no two narratives are nearly the same"),
    Rule("VG602", WARNING, "no two menus have nearly the same results"),
    Rule("VG603", ERROR, "the longest dialogue fits 8192 tokens"),
    Rule("VG604", WARNING, "the longest dialogue fits 4096 tokens"),
    # Bands; what a band may claim is a matter of format.
    Rule("VG701", WARNING, "a band of a scale excludes something"),
    Rule("VG702", WARNING, "a borderline case has a band that straddles its threshold"),
    Rule("VG703", WARNING, "a clear case has a band that does not straddle"),
    # Swap catalogues.
    Rule("SW101", ERROR, "all lines have as many words as the reference"),
    Rule("SW102", ERROR, "a swap leaves nothing of what it replaces"),
    Rule("SW103", ERROR, "a line does not mix the words of two sexes"),
    Rule("SW104", ERROR, "a swap changes one attribute, unless registered as an intersection"),
    Rule("SW105", ERROR, "a control says nothing of who the patient is or what care they get"),
    Rule("SW106", ERROR, "no two conditions have the same line"),
    Rule("SW107", ERROR, "a descriptor is one line without slots or canary"),
    Rule("SW108", WARNING, "the words that a swap puts in are spelled as they are known"),
    Rule("SW109", WARNING, "a swap makes an adult of 18 to 110 years"),
    Rule("SW110", WARNING, "a swap names people with respect"),
    Rule("SW111", ERROR, "a paraphrase says what the reference says, no more and no less"),
    Rule("SW112", WARNING, "a name of a roster is one of its group and gender"),
    Rule("SW113", WARNING, "the names at one place of the rosters are alike in length"),
    # Ready pairs, and descriptors of a case's own.
    Rule("PR101", ERROR, "a pair differs in one attribute, unless registered as an intersection"),
    Rule("PR102", ERROR, "the two texts of a pair differ"),
    Rule("PR103", WARNING, "a pair differs in no word that belongs to no attribute"),
    Rule("PR104", WARNING, "a pair differs in the attribute that it is marked with"),
    Rule("PR105", ERROR, "a text of a pair does not mix two values of an attribute"),
    Rule("PR106", WARNING, "the two texts of a pair have equally many words"),
    # Silences.
    Rule("VG901", WARNING, "a silence silences something"),
    Rule("VG902", WARNING, "a silence names a rule that there is, and gives a reason"),
)

RULES: Mapping[str, Rule] = {rule.id: rule for rule in _RULES}
