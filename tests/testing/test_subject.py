"""What is under test."""

from __future__ import annotations

from piase_gym.core.world import Capabilities
from piase_gym.testing.subject import Subject, env_subject
from tests.testing.faulty_envs import Meadow


class Closes:
    """Counts how often it is closed, and complains."""

    def __init__(self, render_mode: str = "") -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1
        raise OSError("again")


def test_what_is_made_is_closed_whatever_comes_of_it() -> None:
    subject = Subject(Closes, "It", Capabilities())
    one, two = subject.env(), subject.env(render_mode="x")
    with subject.for_a_moment() as three:
        assert three.closed == 0
    assert (one.closed, two.closed, three.closed) == (0, 0, 1)
    subject.close()
    subject.close()
    assert (one.closed, two.closed, three.closed) == (1, 1, 1)
    assert not subject.strict
    assert subject.how == {"unruly": False, "hints": False}
    assert subject.takes("render_mode")
    assert not subject.takes("view")
    odd = Subject(3, "It", Capabilities())  # type: ignore[arg-type]
    assert not odd.takes("view")


def test_what_can_be_imported_has_a_recipe() -> None:
    found = env_subject(Meadow)
    assert found.recipe == {"make": "tests.testing.faulty_envs:Meadow", "modules": ()}
    assert found.label == "Meadow"
    assert found.capabilities.late_join
    assert env_subject(lambda: None).recipe is None
