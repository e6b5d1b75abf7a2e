"""Descriptions of pictures: patches of colour that were painted here, and scores reckoned here."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from piase_gym.errors import UnknownNameError
from piase_gym.worlds.describing import (
    LONGEST_CAPTION,
    LONGEST_NAME,
    MOST_OBJECTS,
    PALETTE,
    ColourDescriber,
    Description,
    Score,
    SeenObject,
    caption,
    describer,
    objects_in,
    register_describer,
    score_caption,
    score_objects,
    tidy,
)

HEIGHT, WIDTH = 60, 90


def painted(*patches: SeenObject, light: float = 1.0) -> np.ndarray:
    """Return a grey picture with patches."""
    picture = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
    for name, (left, top, right, bottom) in patches:
        picture[top:bottom, left:right] = np.array(PALETTE[name]) * 255 * light
    return picture


RED, BLUE = SeenObject("red", (10, 5, 40, 25)), SeenObject("blue", (60, 40, 80, 55))
SMALL = SeenObject("red", (70, 10, 74, 14))


@pytest.mark.parametrize("light", [1.0, 0.7, 0.4])
def test_patches_are_found_in_any_light(light: float) -> None:
    assert ColourDescriber()(painted(RED, BLUE, SMALL, light=light)).objects == (RED, BLUE, SMALL)


@pytest.mark.parametrize("name", sorted(PALETTE))
def test_every_colour_has_its_name(name: str) -> None:
    patch = SeenObject(name, (3, 4, 20, 30))
    assert ColourDescriber()(painted(patch)).objects == (patch,)


def test_what_is_grey_dark_or_tiny_is_nothing() -> None:
    picture = painted(SeenObject("green", (5, 5, 8, 8)))  # 9 pixels
    picture[30:50, 30:50] = (200, 200, 205)
    picture[30:50, 60:80] = (30, 5, 5)
    described = ColourDescriber()(picture)
    assert described == Description((), "Nothing that I know is in the picture.")


def number_of(
    colour: tuple[int, ...], palette: Mapping[str, tuple[float, ...]], tolerance: float
) -> int:
    """Return the number of a colour, from 1 on, or 0: slowly, and by the words of the docs."""
    total = sum(colour)
    if max(colour) < 40 or max(colour) - min(colour) < 0.12 * total:
        return 0
    gaps = [
        math.dist([c / total for c in colour], [c / sum(p) for c in p]) for p in palette.values()
    ]
    return 1 + gaps.index(min(gaps)) if min(gaps) <= tolerance else 0


@pytest.mark.parametrize("tolerance", [0.08, 0.3, 0.02])
@pytest.mark.parametrize("names", [[*PALETTE], ["pink", "green"]])
def test_every_pixel_has_the_number_of_the_nearest_colour(
    names: list[str], tolerance: float
) -> None:
    palette = {name: PALETTE[name] for name in names}
    describe = ColourDescriber(palette, tolerance)
    for seed in (0, 1, 0):  # colours that were met before, and new ones beside them
        dice = np.random.default_rng(seed)
        picture = dice.integers(0, 256, (30, 40, 3), dtype=np.uint8)
        picture[:10] = dice.integers(0, 8, (10, 40, 3)) * 36
        told = [
            number_of(tuple(map(int, pixel)), palette, tolerance)
            for pixel in picture.reshape(-1, 3)
        ]
        assert describe.coded(picture).ravel().tolist() == told
        assert {*told} >= {0, 1}


def test_patches_that_touch_at_a_corner_are_one() -> None:
    one, two = SeenObject("red", (10, 10, 20, 20)), SeenObject("red", (20, 20, 30, 30))
    assert ColourDescriber()(painted(one, two)).objects == (SeenObject("red", (10, 10, 30, 30)),)


def test_a_caption_says_where_things_are() -> None:
    assert ColourDescriber(noun="patch")(painted(RED, BLUE, SMALL)).caption == (
        "A red patch in the upper left, a blue patch in the lower right and a red patch in the "
        "upper right."
    )
    middle = SeenObject("orange cup", (30, 20, 60, 40))
    assert caption((middle,), HEIGHT, WIDTH) == "An orange cup in the middle."


boxes = st.tuples(*[st.integers(-200, 200)] * 4)


@given(st.lists(st.tuples(st.text(max_size=60), boxes), max_size=60), st.text(max_size=900))
def test_tidy_descriptions_fit_into_facts(rows: list, words: str) -> None:
    told = tidy(Description(tuple(SeenObject(*row) for row in rows), words), HEIGHT, WIDTH)
    assert len(told.objects) <= MOST_OBJECTS
    assert len(told.caption) <= LONGEST_CAPTION
    assert "\n" not in told.caption
    areas = [seen.area for seen in told.objects]
    assert areas == sorted(areas, reverse=True)
    for name, (left, top, right, bottom) in told.objects:
        assert 0 < len(name) <= LONGEST_NAME
        assert name == " ".join(name.split()) == name.lower()
        assert 0 <= left < right <= WIDTH
        assert 0 <= top < bottom <= HEIGHT
    assert tidy(told, HEIGHT, WIDTH) == told


def test_describers_have_names() -> None:
    register_describer("fixed", lambda palette: lambda picture: Description((), str(dict(palette))))
    assert describer("fixed", {"cup": (1.0, 0.0, 0.0)})(painted()).caption == (
        "{'cup': (1.0, 0.0, 0.0)}"
    )
    own = describer("colours", {"cup": PALETTE["red"]})
    assert [seen.name for seen in own(painted(RED, BLUE)).objects] == ["cup"]
    with pytest.raises(UnknownNameError, match="did you mean 'fixed'"):
        describer("fixd", {})


# -- truth and scores ---------------------------------------------------------------------


def test_a_mask_is_the_truth() -> None:
    mask = np.full((HEIGHT, WIDTH), -1, np.int32)
    mask[5:25, 10:40], mask[40:55, 60:80], mask[0, 0] = 3, 7, 9
    truth = objects_in(mask, {3: "red", 7: "blue", 9: "tiny"}, least=2)
    assert truth.objects == (RED, BLUE)
    assert truth.caption == "A red in the upper left and a blue in the lower right."


def shared(one: SeenObject, other: SeenObject) -> float:
    """Return intersection over union, by counting pixels."""
    sets = [
        {(x, y) for x in range(box[0], box[2]) for y in range(box[1], box[3])}
        for box in (one.box, other.box)
    ]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1]) if one.name == other.name else 0.0


small_boxes = st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 4), st.integers(1, 4))
seen = st.builds(
    lambda name, box: SeenObject(name, (box[0], box[1], box[0] + box[2], box[1] + box[3])),
    st.sampled_from(["cup", "vase"]),
    small_boxes,
)


@given(st.lists(seen, max_size=4), st.lists(seen, max_size=4))
def test_scores_match_as_much_as_can_be_matched(
    told: list[SeenObject], truth: list[SeenObject]
) -> None:
    found = score_objects(told, truth)
    if not told or not truth:
        assert (found.precision, found.recall) == (float(not told), float(not truth))
        return
    short, long = sorted((told, truth), key=len)
    best = max(
        sum(value for a, b in zip(short, order, strict=True) if (value := shared(a, b)) >= 0.3)
        for order in itertools.permutations(long, len(short))
    )
    matched = found.precision * len(told)
    assert matched == pytest.approx(found.recall * len(truth))
    assert found.overlap * matched == pytest.approx(best)


def test_captions_are_scored_by_the_names_in_them() -> None:
    truth = [RED, BLUE, SeenObject("red lamp", (0, 0, 9, 9))]
    names = ("red", "blue", "red lamp", "cup")
    told = score_caption("A Red Lamp stands on cups; there is no blueprint.", truth, names)
    assert told == Score(1 / 2, 1 / 3)
    assert told.f1 == pytest.approx(0.4)
    assert score_caption("reds, blue and a red lamp", truth, names).f1 == 1.0
    assert score_caption("nothing", [], names) == Score(1.0, 1.0)
    assert score_caption("nothing", truth, names).f1 == 0.0
    assert score_caption("a cup", [], names) == Score(0.0, 1.0)
