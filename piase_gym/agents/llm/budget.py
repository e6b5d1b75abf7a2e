"""What language models may cost, and what they have cost."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from piase_gym.errors import ConfigError
from piase_gym.worlds.texts.wording import counted

Prices = tuple[float, float]
"""Prices per million tokens of prompts and of answers, in any currency."""


@dataclass
class Usage:
    """What was asked of a model, and what that took.

    Attributes:
        calls: Replies and failures.
        failures: Calls that had no reply, after all retries.
        unreadable: Replies in which no command could be read.
        prompt_tokens: Tokens of what was asked.
        completion_tokens: Tokens of what was answered.
        estimated: Calls for which the server did not report tokens; four bytes count as one.
        cost: Cost in the currency of the prices.
        seconds: Time spent waiting.
    """

    calls: int = 0
    failures: int = 0
    unreadable: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.prompt_tokens + self.completion_tokens

    def add(self, other: Usage) -> None:
        """Add another usage to this one."""
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)

    def __str__(self) -> str:
        """Return the usage as one line."""
        cost = f", cost {self.cost:.4g}" if self.cost else ""
        bad = f", {self.failures} failed" if self.failures else ""
        bad += f", {self.unreadable} unreadable" if self.unreadable else ""
        return (
            f"{counted(self.calls, 'call')}{bad}, {self.prompt_tokens:,} + "
            f"{self.completion_tokens:,} tokens{cost}, {self.seconds:.1f} s of waiting"
        )


class Budget:
    """What a group of agents may spend together; it can be shared between threads.

    Before a call its tokens are set aside: what the model reads, three bytes to a token, and the
    longest answer allowed. A call for which there is not enough left is not made. How long a call
    takes is not known beforehand: none is begun once more seconds than allowed have been used. All
    tries of one call count as one.

    Args:
        tokens: Most tokens; ``None`` for no limit.
        cost: Highest cost, in the currency of `prices`.
        calls: Most calls.
        prices: Prices per million tokens of prompts and of answers.
        seconds: Most seconds of waiting; those of simultaneous calls are added up.

    Attributes:
        usage: What was spent.

    Example:
        >>> budget = Budget(calls=1)
        >>> budget.reserve(100, 10) is None, budget.reserve(100, 10)
        (True, 'the budget of 1 calls is used up')
    """

    def __init__(
        self,
        tokens: int | None = None,
        cost: float | None = None,
        calls: int | None = None,
        prices: Prices | None = None,
        seconds: float | None = None,
    ) -> None:
        limits = {"tokens": tokens, "cost": cost, "calls": calls, "seconds": seconds}
        for name, value in limits.items():
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0
            ):
                raise ConfigError(f"a budget's {name} are a number from 0 on, not {value!r:.60}")
        if cost is not None and prices is None:
            raise ConfigError("a budget of costs needs prices=(of prompts, of answers)")
        self.tokens, self.cost, self.calls, self.seconds = tokens, cost, calls, seconds
        self.prices: Prices = check_prices(prices)
        self.usage = Usage()
        self._lock = threading.Lock()
        self._aside = Usage()

    def price(self, prompt: int, completion: int) -> float:
        """Return what tokens cost."""
        return (prompt * self.prices[0] + completion * self.prices[1]) / 1e6

    def reserve(self, size: int, answer: int) -> str | None:
        """Set aside what a call may take.

        Args:
            size: The bytes that the model reads.
            answer: Most tokens of its answer.

        Returns:
            ``None``, or why the call must not be made.
        """
        wanted = self._estimate(size, answer)
        with self._lock:
            for name in ("calls", "tokens", "cost", "seconds"):
                limit = getattr(self, name)
                if limit is None:
                    continue
                taken = getattr(self.usage, name) + getattr(self._aside, name)
                if taken + getattr(wanted, name) > limit:
                    text = f"{limit:.15g}"
                    unit = f"{text} {name}" if name != "cost" else f"cost {text}"
                    told = f"the budget of {unit} is used up"
                    if getattr(wanted, name) > limit:
                        told += f": one call alone may take {getattr(wanted, name):.12g}"
                    return told
            self._aside.add(wanted)
        return None

    def settle(self, size: int, answer: int, spent: Usage) -> None:
        """Book what a call took in place of what was set aside for it."""
        wanted = self._estimate(size, answer)
        with self._lock:
            self.usage.add(spent)
            for name, value in asdict(wanted).items():
                setattr(self._aside, name, getattr(self._aside, name) - value)

    def _estimate(self, size: int, answer: int) -> Usage:
        """Return what a call may take."""
        prompt = size // 3 + 1
        cost = self.price(prompt, answer)
        return Usage(calls=1, prompt_tokens=prompt, completion_tokens=answer, cost=cost)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock; a copy in another process counts separately."""
        return {k: v for k, v in vars(self).items() if k != "_lock"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Restore the state, with a new lock."""
        vars(self).update(state)
        self._lock = threading.Lock()


def check_prices(prices: object) -> Prices:
    """Return checked prices; ``None`` stands for zeros.

    Raises:
        ConfigError: If they are not two numbers from 0 on.
    """
    if prices is None:
        return 0.0, 0.0
    if isinstance(prices, tuple | list) and len(prices) == 2:
        one, two = prices
        if all(isinstance(p, int | float) and not isinstance(p, bool) and p >= 0 for p in prices):
            return float(one), float(two)
    raise ConfigError(f"prices are two numbers, of prompts and of answers, not {prices!r:.60}")
