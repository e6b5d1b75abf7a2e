"""Threshold-sequential: the steps in their order, each until it is mastered."""

from __future__ import annotations

from piase_gym.curricula import actions
from piase_gym.curricula.decisions import Decision, follow
from piase_gym.curricula.director import Director, Tried
from piase_gym.curricula.schema import CurriculumStep
from piase_gym.errors import ConfigError


class Threshold(Director):
    """Goes on to the next step when a share of the last episodes was won.

    Criteria and rules of the curriculum are not asked. After the last step the agent stays there.

    Args:
        share: The share of episodes to win, above 0 and at most 1.
        episodes: How many episodes make an attempt; by default each step's own number.
    """

    def __init__(self, share: float = 0.8, episodes: int | None = None) -> None:
        """Check the settings.

        Raises:
            ConfigError: If one is not allowed.
        """
        if isinstance(share, bool) or not 0.0 < share <= 1.0:
            raise ConfigError(f"share is a number above 0 and at most 1, not {share!r}")
        if episodes is not None and (isinstance(episodes, bool) or episodes < 1):
            raise ConfigError(f"episodes is a positive number, not {episodes!r}")
        self.share = share
        self._episodes = episodes

    def episodes(self, step: CurriculumStep) -> int:
        """Return how many episodes make an attempt."""
        return self._episodes or step.episodes_per_attempt

    def take(self, tried: Tried) -> Decision:
        """Decide by the share of episodes that were won."""
        curriculum = self.curriculum(tried.agent)
        value = self.avt.get_performance_metric(tried.agent, "success_rate")
        mastered = isinstance(value, int | float) and value >= self.share
        stages = self.manager.progress(tried.agent).stages
        proceed = actions.plain("PROCEED")
        after = follow(curriculum, tried.step, proceed, stages)
        goes_on = mastered and after is not None
        word = "at least" if mastered else "less than"
        end = "; it is the last step" if mastered and not goes_on else ""
        return Decision(
            agent=tried.agent,
            curriculum=curriculum.name,
            step=tried.step.order,
            name=tried.step.name,
            attempt=tried.attempt,
            decision="PROCEED" if goes_on else "REPEAT_STEP",
            rule=None,
            reason=f"success_rate is {value!r}, {word} {self.share:g}{end}",
            values={"success_rate": value, "step_attempts": tried.attempt},
            next_step=after if goes_on else tried.step.order,
            completed=mastered,
            status="completed_success" if mastered else "in_progress",
            env_steps=tried.env_steps,
            episodes=tried.episodes,
        )
