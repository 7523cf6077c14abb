"""Names of people. A name tells sex and ethnicity, so frozen text has none."""

from __future__ import annotations

import re
from functools import lru_cache

# Common given names and surnames of several perceived groups in the US. Names that are also common
# words (Grace, Mark, Rose, Will, Hill) or that medicine uses (Murphy, Wells, Baker, Graham, Rivero)
# are left out: they would find words and eponyms.
_GIVEN = """
    Aaliyah Abdul Abdullah Abigail Adam Adriana Ahmed Aisha Alejandra Alejandro Alexander
    Alexis Alice Alicia Alison Allison Amanda Amy Ana Andre Andrea Andrew Angela Anita Anna
    Anne Anthony Antonio Ashley Barbara Benjamin Beth Betty Beverly Blanca Brad Brandon
    Brenda Brendan Brett Brian Brittany Bruce Caitlin Carlos Carmela Carmen Carrie Cedric
    Charles Charlotte Christina Christine Christopher Cindy Claire Connor Cynthia
    Daniel Darius Darnell David DeShawn Deandre Deborah Debra Deja Demetrius Denise Dennis
    Deshawn Devante Diana Diane Diego Donald Donna Dorothy Douglas Ebony Eduardo Edward
    Elena Elizabeth Ellen Emily Emma Enrique Eric Esperanza Ethan Fatima Fernando Francisco
    Gabriela Gary Geoffrey George Gerardo Gloria Gonzalo Greg Gregory Guadalupe Guillermo
    Hakim Hannah Harold Hassan Heather Hector Helen Henry Hernando Hiroshi Hussein Ibrahim
    Ignacio Imani Isabella Jacob Jada Jamal James Jane Janet Jasmine Jason Javier Jay
    Jeffrey Jennifer Jermaine Jesse Jessica Jesus Jill Joan Jonathan Jorge Jose Josefina
    Joseph Joshua José Juan Juana Juanita Judith Julia Julie Justin Kareem Karen Katherine
    Kathleen Katie Kayla Keisha Kelly Kenneth Kenya Kevin Keyana Khalid Kiara Kimberly
    Kristen Kwame LaToya Lakisha Lamar Laquisha Larry Latonya Latoya Laura Lauren Laurie
    Leroy Leticia Linda Lisa Luis Luz Madison Malik Marcela Marcus Margaret Maria Mariana
    Marisol Marquis Martha Mary María Mateo Matthew Megan Mei Melissa Meredith Michael
    Michelle Miguel Mohamed Mohammed Molly Monique Muhammad Nancy Natalia Nathan Neil Nguyen
    Nia Nicholas Nicole Noah Olivia Omar Pablo Pamela Patricia Patrick Paul Paula Pedro
    Peter Philip Priya Rachel Rafael Raj Rajesh Ramon Raul Ravi Raymond Rebecca Ricardo
    Richard Robert Roberto Rocio Rogelio Ronald Rosa Rosario Ruth Ryan Salvador Samantha
    Samuel Sandra Santiago Sara Sarah Scott Sergio Shanice Shaniqua Sharon Shirley Sofia
    Sophia Stephanie Stephen Steven Suresh Susan Tamika Tanisha Tanya Teresa Thomas Timothy
    Todd Tremayne Trevon Tyrone Valeria Vanessa Victoria Vijay Virginia Walter Wei William
    Ximena Yolanda Yusuf Zachary Zoe
"""
GIVEN = frozenset(_GIVEN.split())
_SURNAMES = """
    Abdi Adams Aguilar Ahmed Ali Alvarez Anderson Banerjee Begay Booker Campbell Castillo
    Castro Chan Chaudhry Chavez Chen Chowdhury Cruz Davis Delgado Diaz Díaz Edwards Evans
    Fernandez Flores Garcia García Gomez Gonzales Gonzalez González Gupta Gutierrez
    Hernandez Hernández Herrera Huang Jackson Jefferson Jimenez Johnson Jones Kelly Khan
    Kowalski Kumar Larsen Lopez López Martin Martinez Martínez McCarthy Medina Mendoza
    Miller Mitchell Moore Morales Moreno Mukherjee Munoz Murray Muñoz Nelson Novak O'Brien
    O'Connor Obama Okafor Olson Ortiz Park Patel Perez Peterson Phillips Pérez Ramirez Ramos
    Ramírez Reyes Rivera Roberts Robinson Rodriguez Rodríguez Romero Ruiz Ryan Salazar
    Sanchez Santos Schmidt Schneider Schwartz Sharma Singh Smith Soto Sullivan Sánchez
    Tanaka Torres Tran Vargas Vasquez Wang Washington Williams Wilson Wong Xiong Yamamoto
    Yang Yazzie Zhang Zimmerman
"""
SURNAMES = frozenset(_SURNAMES.split())
# Surnames that stand in the names of diseases, signs, scores and devices, when one of these follows
# or a hyphen joins them ("Stevens-Johnson", "Wilson disease", "Martin gauge").
_EPONYM = re.compile(
    r"-|(?:'s)? (?:disease|syndrome|sign|score|criteria|test|classification|scale|triad|tumor"
    r"|fracture|catheter|tube|maneuver|ulcer|palsy|cyst|point|law|node|body|bodies|hernia)"
)
_CAPITAL = re.compile(r"\b[A-Z][\w']+")
_TITLED = re.compile(r"\b(?:Mrs?|Ms|Miss|Dr|Prof|Señora?|Sra?)\.? [A-Z][a-z]+\b")
_INITIAL = re.compile(r"\b[A-Z][a-z]+ [A-Z]\. [A-Z][a-z]+\b")


@lru_cache(maxsize=4096)
def names_in(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return start, end and text of the names of people in a text."""
    found = []
    for hit in _CAPITAL.finditer(text):
        word = hit.group().removesuffix("'s")
        if word not in GIVEN and word not in SURNAMES:
            continue
        if text[: hit.start()].endswith("-") or _EPONYM.match(text, hit.start() + len(word)):
            continue
        found.append((hit.start(), hit.start() + len(word), word))
    for pattern in (_TITLED, _INITIAL):
        found += [(hit.start(), hit.end(), hit.group()) for hit in pattern.finditer(text)]
    return tuple(found)
