"""Conditions: against a slow interpreter of their own, and with everything that is no condition."""

from __future__ import annotations

import pickle
import time
from decimal import Context, Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from piase_gym.curricula import Condition
from piase_gym.curricula.condition_syntax import MOST_CHARACTERS, Kind
from piase_gym.errors import CurriculumError

# -- a slow interpreter: trees that are written as text, and computed by hand ---------------------

NAMES: dict[str, Kind] = {
    "step_attempts": "number",
    "score": "number",
    "milestone.door": "boolean",
    "reached_goal_1": "boolean",
}
Tree = tuple[Any, ...]
NUMBERS = st.one_of(st.integers(-20, 20), st.sampled_from([0.1, 0.2, 0.3, 0.5, 1.9, 2.0, -0.75]))


def number_tree(depth: int) -> st.SearchStrategy[Tree]:
    leaf: st.SearchStrategy[Tree] = st.one_of(
        st.tuples(st.just("number"), NUMBERS.map(abs)),
        st.tuples(st.just("name"), st.sampled_from(["step_attempts", "score"])),
    )
    if depth == 0:
        return leaf
    inner = number_tree(depth - 1)
    return st.one_of(
        leaf, st.tuples(st.sampled_from("+-*"), inner, inner), st.tuples(st.just("minus"), inner)
    )


def truth_tree(depth: int) -> st.SearchStrategy[Tree]:
    leaf: st.SearchStrategy[Tree] = st.one_of(
        st.tuples(st.just("truth"), st.booleans()),
        st.tuples(st.just("name"), st.sampled_from(["milestone.door", "reached_goal_1"])),
        st.tuples(
            st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), number_tree(1), number_tree(1)
        ),
        st.tuples(st.sampled_from(["in", "not in"]), number_tree(0), st.lists(NUMBERS, max_size=3)),
    )
    if depth == 0:
        return leaf
    inner = truth_tree(depth - 1)
    return st.one_of(
        leaf,
        st.tuples(st.sampled_from(["and", "or", "==", "!="]), inner, inner),
        st.tuples(st.just("not"), inner),
    )


def write(tree: Tree, word: dict[str, str]) -> str:
    """Write a tree with every bracket, so that precedence plays no part."""
    head, *parts = tree
    if head == "number":
        return repr(parts[0])
    if head == "truth":
        return str(parts[0]).lower()
    if head == "name":
        return str(parts[0])
    if head in ("minus", "not"):
        return f"({word.get(head, head)} {write(parts[0], word)})".replace("minus", "-")
    if head in ("in", "not in"):
        return f"({write(parts[0], word)} {head} [{', '.join(map(repr, parts[1]))}])"
    return f"({write(parts[0], word)} {word.get(head, head)} {write(parts[1], word)})"


def compute(tree: Tree, values: dict[str, Any]) -> Any:
    """Compute a tree by going through it, numbers as decimals of 28 digits."""
    head, *parts = tree
    if head in ("number", "truth"):
        return exact(parts[0])
    if head == "name":
        return exact(values[parts[0]])
    if head in ("in", "not in"):
        found = any(compute(parts[0], values) == exact(item) for item in parts[1])
        return found is (head == "in")
    done = [compute(part, values) for part in parts]
    return {
        "minus": lambda: -done[0],
        "not": lambda: not done[0],
        "+": lambda: done[0] + done[1],
        "-": lambda: done[0] - done[1],
        "*": lambda: done[0] * done[1],
        "<": lambda: done[0] < done[1],
        "<=": lambda: done[0] <= done[1],
        ">": lambda: done[0] > done[1],
        ">=": lambda: done[0] >= done[1],
        "==": lambda: done[0] == done[1],
        "!=": lambda: done[0] != done[1],
        "and": lambda: done[0] and done[1],
        "or": lambda: done[0] or done[1],
    }[head]()


def exact(value: Any) -> Any:
    return value if isinstance(value, bool) else Decimal(str(value))


VALUES = st.fixed_dictionaries(
    {
        "step_attempts": st.integers(1, 9),
        "score": NUMBERS,
        "milestone.door": st.booleans(),
        "reached_goal_1": st.booleans(),
    }
)


@settings(max_examples=400, deadline=None)
@given(truth_tree(3), VALUES, st.booleans())
def test_conditions_mean_what_a_slow_interpreter_says(
    tree: Tree, values: dict[str, Any], signs: bool
) -> None:
    word = {"and": "&&", "or": "||", "not": "!"} if signs else {}
    condition = Condition(write(tree, word), NAMES)
    with localcontext(Context(prec=28)):
        expected = compute(tree, values)
    verdict = condition.evaluate(values)
    assert verdict.problem is None
    assert verdict.holds is expected
    assert verdict.read == {name: values[name] for name in condition.names}


@settings(max_examples=100, deadline=None)
@given(truth_tree(2), VALUES, st.data())
def test_a_name_without_a_value_makes_a_condition_false(
    tree: Tree, values: dict[str, Any], data: st.DataObject
) -> None:
    condition = Condition(write(tree, {}))
    if not condition.names:
        return
    gone = data.draw(st.sampled_from(condition.names))
    verdict = condition.evaluate({**values, gone: None})
    assert not verdict.holds
    assert verdict.missing == (gone,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # and binds tighter than or, not tighter than both, comparisons tighter than not
        ("true or false and false", True),
        ("not false or true", True),
        ("not 1 == 2", True),
        ("!true == false", True),
        ("1 + 2 * 3 == 7", True),
        ("2 * 3 ** 2 == 18", True),
        ("7 // 2 == 3 && 7 % 2 == 1 && 7 / 2 == 3.5", True),
        ("0.1 + 0.2 == 0.3", True),
        ("1.9 > 1", True),
        ("'a' in ['a', 'b'] and 'a' < 'b'", True),
        ("null == null", True),
    ],
)
def test_precedence_is_that_of_the_syntax(text: str, expected: bool) -> None:
    assert Condition(text).evaluate({}).holds is expected


# -- kinds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("scor > 1", "column 1: unknown metric 'scor'; did you mean 'score'?"),
        ("score == 'high'", "'score' is a number and 'high' is a string; '==' compares"),
        ("score == true", "'score' is a number and true is a boolean"),
        ("reached_goal_1 == 1", "'reached_goal_1' is a boolean and '1' is a number"),
        ("reached_goal_1 > 0", "'reached_goal_1' has no place in an order"),
        ("score and reached_goal_1", "'and' takes true or false, and 'score' is a number"),
        ("!score", "'not' takes true or false"),
        ("reached_goal_1 + 1 == 2", "'+' takes numbers, and 'reached_goal_1' is a boolean"),
        ("score", "the condition is a number, neither true nor false"),
        ("score in ['a']", "'in' compares values of one kind"),
        ("score in step_attempts", "'in' is followed by a list"),
        ("score < null", "null has no place in an order"),
    ],
)
def test_kinds_must_fit(text: str, told: str) -> None:
    with pytest.raises(CurriculumError) as caught:
        Condition(text, NAMES)
    assert told in str(caught.value)


def test_values_of_a_wrong_kind_make_a_condition_false() -> None:
    verdict = Condition("score < 50").evaluate({"score": "40"})
    assert not verdict.holds
    assert "'score' is a string and '50' is a number" in str(verdict.problem)
    verdict = Condition("done == true").evaluate({"done": "true"})
    assert not verdict.holds
    assert Condition("1 / score > 0").evaluate({"score": 0}).problem is not None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, [1], object])
def test_what_is_no_plain_value_is_missing(value: Any) -> None:
    verdict = Condition("score < 50 or score >= 50").evaluate({"score": value})
    assert not verdict.holds
    assert verdict.missing == ("score",)


# -- what is no condition -------------------------------------------------------------------------

WRONG = [
    ("", "the condition is empty"),
    ("step_attempts >", "the condition ends too early"),
    ("step_attempts >> 3", "column 16: '>' is not expected here"),
    ("step_attempts = 3", "column 15: '= 3' cannot be read"),
    ("score < 1 < 2", "column 11: '<' is not expected here"),
    ("__import__('os').system('true')", "cannot be read"),
    ("().__class__", "cannot be read"),
    ("score.real.denominator(1)", "not allowed"),
    ("$abs(score) > 1", "column 1: '$abs"),
    ("score =~ '(a+)+b'", "cannot be read"),
    ("[x for x in score]", "column 4: 'for' is not allowed"),
    ("lambda: 1", "column 7: ': 1' cannot be read"),
    ("score if true else 1", "column 7: 'if' is not allowed"),
    ("9**9**9**9", "3 powers; at most 2"),
    ("9**99 < 1", "an exponent is a whole number from 0 to 10"),
    ("9**score < 1", "an exponent is a whole number"),
    ("1e999999999 < 1", "is too long"),
    ("1" * 21 + " < 1", "is too long"),
    ("score in 5", "'in' is followed by a list"),
    ("1/0 > score", "cannot be calculated: arithmetic error: division by zero"),
    ("(" * 25 + "true" + ")" * 25, "nested deeper than 20 levels"),
    ("!" * 25 + "true", "nested deeper than 20 levels"),
    ("+".join(["1"] * 150) + ">0", "words; at most 200"),
    ("a" * 1_000_000, f"has 1000000 characters; at most {MOST_CHARACTERS}"),
    ("(" * 500_000, f"at most {MOST_CHARACTERS}"),
    ("sçore > 1", "cannot be read"),
    (None, "a condition is a string, not NoneType"),
    (True, "a condition is a string, not bool"),
]


@pytest.mark.parametrize(("text", "told"), WRONG, ids=range(len(WRONG)))
def test_what_is_no_condition_is_refused_at_once(text: Any, told: str) -> None:
    start = time.process_time()
    with pytest.raises(CurriculumError) as caught:
        Condition(text)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 400
    assert time.process_time() - start < 5  # none of them is ever computed


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab1.()[]<>=!&|+-*/%, 'notradeflsu", max_size=40))
def test_any_text_is_a_condition_or_an_error_of_ours(text: str) -> None:
    try:
        condition = Condition(text)
    except CurriculumError:
        return
    condition.evaluate(dict.fromkeys(condition.names, 1))


def test_conditions_travel_and_compare() -> None:
    condition = Condition("score < 50")
    again = pickle.loads(pickle.dumps(condition))
    assert again == condition
    assert hash(again) == hash(condition)
    assert again.evaluate({"score": 40}).holds
