"""What is wrong in a PDDL problem is told in a sentence."""

from __future__ import annotations

import pytest

from piase_gym.errors import ConfigError
from piase_gym.worlds.household.levels.pddl import read_problem, variables

PROBLEM = """
(define (problem tidy)
    ; who and what there is
    (:objects me - agent Desk Shelf - receptacle Mug - object Here - location)
    (:init (atLocation me Here) (opened Desk) (inReceptacle Mug Desk) (= (distance Here Here) 1))
    (:goal (opened Shelf))
)
"""


def test_a_problem_is_read() -> None:
    problem = read_problem(PROBLEM)
    assert list(problem.types.items()) == [
        ("me", "agent"),
        ("desk", "receptacle"),
        ("shelf", "receptacle"),
        ("mug", "object"),
        ("here", "location"),
    ]
    said = {name: places for name, places in problem.facts.items() if places}
    assert said == {
        "atlocation": [("me", "here")],
        "opened": [("desk",)],
        "inreceptacle": [("mug", "desk")],
    }
    assert problem.goal == ["opened", "shelf"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("(define", "(defined", "a problem begins with (define (problem ...) ...)"),
        (")\n)", ")", "1 '(' are not closed"),
        ("(:goal (opened Shelf))", "(:goal (opened Shelf)))", "there is a ')' too many"),
        ("\n(define", "\nx (define", "the text is not one expression in brackets"),
        (":init", ":start", "the problem has no :init"),
        ("(:goal (opened Shelf))", "((:goal) (opened Shelf))", "the problem has no :goal"),
        ("- location)", "- planet)", "'here' has the unknown type 'planet'"),
        ("Here - location)", "Here)", "'here' has no type"),
        ("- location)", "-)", "'here' has no type after '-'"),
        ("Mug - object", "(Mug) - object", "there are brackets among typed names"),
        (
            "(:goal (opened Shelf))",
            "(:goal (opened Shelf) (opened Desk))",
            "a problem has one goal",
        ),
        ("(opened Desk)", "opened", "'opened' is no fact"),
        ("(opened Desk)", "()", "[] is no fact"),
        ("(opened Desk)", "(shut Desk)", "unknown predicate 'shut'"),
        ("(opened Desk)", "((opened) Desk)", "unknown predicate ['opened']"),
        ("(opened Desk)", "(opened Desk Mug)", "opened is said of 1, not of 2"),
        ("(opened Desk)", "(opened Lamp)", "opened is said of the unknown 'lamp'"),
        ("(opened Desk)", "(opened Mug)", "opened is said of 'mug', which is no receptacle"),
    ],
)
def test_mistakes_are_named(old: str, new: str, told: str) -> None:
    assert old in PROBLEM
    with pytest.raises(ConfigError) as error:
        read_problem(PROBLEM.replace(old, new))
    assert str(error.value) == f"PDDL: {told}"


def test_variables_of_a_quantifier_have_types() -> None:
    words = ["?o,", "?p", "-", "object", ",", "?r", "-", "receptacle"]
    assert variables(words) == {"?o": "object", "?p": "object", "?r": "receptacle"}
    with pytest.raises(ConfigError, match="a quantifier needs variables, not 'everything'"):
        variables("everything")
