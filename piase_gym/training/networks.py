"""The networks of PPO: an actor and a critic on one encoding, with or without memory.

- Whole numbers are symbols, not quantities: every code picks a row of an embedding
  (`piase_gym.training.symbols`). With raw bytes an MLP hardly learns. Observations that are
  quantities go through logarithms, because scores and payoffs differ by orders of magnitude.
- Where a world says which numbers stand for things (`World.thing_places`), all of them share one
  embedding, and an action that takes a thing is scored by what is taken, wherever it lies: a
  pointer network (Vinyals, Fortunato and Jaitly 2015).
- With `memory` a gated recurrent unit stands between the encoding and the rest. Its update gates
  begin with time scales of up to `LONGEST` steps (chrono initialisation, Tallec and Ollivier 2018),
  so that what was seen many steps ago has a gradient from the start.
- With a `state_space` the critic sees the whole state of the environment instead of what the agent
  sees, and has a value for each seat (MAPPO's central value); the actor is as before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from piase_gym.core.things import ThingPlaces
from piase_gym.training.symbols import SymbolEncoder

EMBEDDING = 64
"""Numbers in the embedding of a thing."""
LONGEST = 100
"""The longest time in steps for which a new policy's memory keeps something."""


class QuantityEncoder(nn.Module):
    """Encodes vectors of numbers of any size: a linear layer over sign-preserving logarithms."""

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(length, width)

    def forward(self, values: Tensor) -> Tensor:
        """Return encodings (batch, width) of values (batch, length)."""
        encoded: Tensor = torch.relu(self.linear(signed_log(values.float().flatten(1))))
        return encoded


def signed_log(values: Tensor) -> Tensor:
    """Return the logarithms of one plus the sizes of numbers, with the numbers' signs."""
    return values.sign() * values.abs().log1p()


class ThingEncoder(nn.Module):
    """Encodes vectors with numbers of things: a linear layer over embeddings and quantities.

    The embeddings of a group are summed. All that a file needs is in the buffers.

    Args:
        places: Where things are.
        length: Length of a vector.
        width: Length of the encoding.

    Attributes:
        table: The embeddings, (largest + 1, `EMBEDDING`). Row 0 stands for nothing: it adds nothing
            to sums.
    """

    places: Tensor
    starts: Tensor
    slots: Tensor
    actions: Tensor
    agent: Tensor
    others: Tensor

    def __init__(self, places: ThingPlaces, length: int, width: int) -> None:
        super().__init__()
        held = [place for group in places.groups for place in group]
        sizes = np.array([len(group) for group in places.groups])
        others = sorted({*range(length)} - {*held})
        for name, values in {
            "places": held,
            "starts": sizes.cumsum() - sizes,
            "slots": places.slots,
            "actions": places.actions,
            "agent": places.agent,
            "others": others,
        }.items():
            self.register_buffer(name, torch.as_tensor(np.array(values, np.int64)))
        self.table = nn.Parameter(torch.randn(places.largest + 1, EMBEDDING))
        self.linear = nn.Linear(len(others) + EMBEDDING * len(sizes), width)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return encodings (batch, width) of vectors (batch, length)."""
        things = self._within_table(vectors[:, self.places])
        bags = torch.arange(len(things))[:, None] * len(self.places) + self.starts
        sums = functional.embedding_bag(
            things.flatten(), self.table, bags.flatten(), mode="sum", padding_idx=0
        )
        values = signed_log(vectors[:, self.others].float())
        encoded: Tensor = torch.relu(
            self.linear(torch.cat([sums.view(len(things), -1), values], 1))
        )
        return encoded

    def _within_table(self, numbers: Tensor) -> Tensor:
        """Return numbers of things, those beyond the table as 0."""
        return torch.where(numbers < len(self.table), numbers, 0).long()

    def compare(self, wanted: Tensor, vectors: Tensor) -> Tensor:
        """Return how well each action's thing fits what is wanted, (batch, actions).

        Args:
            wanted: Embeddings (batch, `EMBEDDING`).
            vectors: What the agents see, (batch, length).
        """
        slots = self.slots[vectors[:, self.agent].long()]
        things = self._within_table(vectors.gather(1, slots))
        fits = (wanted @ self.table.t()).gather(1, things) / EMBEDDING**0.5
        return functional.pad(fits, (0, 1))[:, self.actions]  # -1 is the zero at the end


def encoder_of(
    space: Any, width: int, places: ThingPlaces | None = None
) -> SymbolEncoder | QuantityEncoder | ThingEncoder:
    """Return the first layer: for things if they have numbers, for symbols if all is whole."""
    if places is not None:
        return ThingEncoder(places, int(np.prod(space.shape)), width)
    if np.issubdtype(space.dtype, np.integer):
        return SymbolEncoder(space.high, width)
    return QuantityEncoder(int(np.prod(space.shape)), width)


class StateCritic(nn.Module):
    """Gives the value of every seat from the state of an environment; see `World.state`.

    Places with up to 256 different whole numbers are symbols, the others are quantities.
    """

    def __init__(self, space: Any, width: int, seats: int) -> None:
        super().__init__()
        low, high = space.low.reshape(-1).astype(float), space.high.reshape(-1).astype(float)
        few = (high - low < 256) & np.issubdtype(space.dtype, np.integer)
        self.few, self.many = torch.as_tensor(few), torch.as_tensor(~few)
        self.low = torch.as_tensor(low[few].astype(np.int64))
        self.symbols = SymbolEncoder((high - low)[few], width) if few.any() else None
        self.quantities = QuantityEncoder(int((~few).sum()), width) if (~few).any() else None
        self.body = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, seats))

    def codes(self, states: Tensor) -> Tensor:
        """Return the symbols in states (batch, size)."""
        return (states[:, self.few].long() - self.low).to(torch.uint8)

    def forward(self, states: Tensor, seats: Tensor) -> Tensor:
        """Return the value of each state (batch, size) for the given seat (batch)."""
        encoded = torch.zeros(())
        if self.symbols is not None:
            encoded = encoded + self.symbols(self.codes(states))
        if self.quantities is not None:
            encoded = encoded + self.quantities(states[:, self.many])
        values: Tensor = self.body(encoded).gather(1, seats[:, None])[:, 0]
        return values


class Choice:
    """The distribution over legal actions, (batch, actions).

    Attributes:
        logits: Logarithms of the probabilities.
        probs: The probabilities; exactly 0 for illegal actions.
    """

    def __init__(self, scores: Tensor, masks: Tensor) -> None:
        self.logits = functional.log_softmax(scores.masked_fill(masks == 0, -1e9), -1)
        self.probs = self.logits.exp()

    def sample(self) -> Tensor:
        """Sample actions (batch): those with the shortest of exponential waiting times."""
        return (self.probs / torch.empty_like(self.probs).exponential_()).argmax(-1)

    def log_prob(self, actions: Tensor) -> Tensor:
        """Return the logarithms of the probabilities of actions (batch)."""
        return self.logits.gather(-1, actions[:, None])[:, 0]

    def entropy(self) -> Tensor:
        """Return the entropies (batch); illegal actions add nothing."""
        return -(self.probs * self.logits).sum(-1)


class Policy(nn.Module):
    """An actor and a critic on one encoding.

    Args:
        space: The space of one agent's observations.
        actions: Number of actions.
        width: Width of the encoding and of the hidden layer.
        memory: Length of the recurrent state; 0 for a policy without memory.
        state_space: The space of states, if the critic sees these instead of observations.
        seats: Number of agents in a state.
        places: Where observations have numbers of things, if they have.
    """

    def __init__(
        self,
        space: Any,
        actions: int,
        width: int,
        memory: int = 0,
        state_space: Any = None,
        seats: int = 1,
        places: ThingPlaces | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder_of(space, width, places)
        self.query = None if places is None else nn.Linear(width, EMBEDDING)
        self.memory = nn.GRUCell(width, memory) if memory else None
        self.body = nn.Sequential(nn.Linear(memory or width, width), nn.ReLU(inplace=True))
        self.actor, self.critic = nn.Linear(width, actions), nn.Linear(width, 1)
        self.central = None if state_space is None else StateCritic(state_space, width, seats)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.orthogonal_(module.weight, 2**0.5)
                nn.init.zeros_(module.bias)
        if self.memory is not None:
            _keep_long(self.memory)
        if self.query is not None:
            nn.init.orthogonal_(self.query.weight, 0.1)
        nn.init.orthogonal_(self.actor.weight, 0.01)
        nn.init.orthogonal_(self.critic.weight, 1.0)

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Choice, Tensor]:
        """Return the distribution over legal actions and the value of each observation.

        A policy with memory starts from a blank one each time; `read` and `unroll` carry it on.
        """
        hidden, _ = self.read(observations, self.blank(len(observations)))
        return self.judge(hidden, masks)

    def blank(self, slots: int) -> Tensor | None:
        """Return the recurrent state at the beginning of episodes, if the policy has memory."""
        return None if self.memory is None else torch.zeros(slots, self.memory.hidden_size)

    def read(self, observations: Tensor, state: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return the hidden layer for observations (batch, length), and the recurrent state."""
        encoded: Tensor = self.encoder(observations)
        if self.memory is not None:
            encoded = state = self.memory(encoded, state)
        return self._compare(self.body(encoded), observations), state

    def _compare(self, hidden: Tensor, observations: Tensor) -> Tensor:
        """Return the hidden layer and, after it, the scores of actions by what they take."""
        if self.query is None:
            return hidden
        assert isinstance(self.encoder, ThingEncoder)
        scores = self.encoder.compare(self.query(hidden), observations)
        return torch.cat([hidden, scores], 1)

    def unroll(self, observations: Tensor, state: Tensor, fresh: Tensor) -> Tensor:
        """Return the hidden layer (steps, slots, width) along observations (steps, slots, length).

        Args:
            observations: The observations of each step in turn.
            state: The recurrent state before the first step, (slots, memory).
            fresh: Where an episode begins, (steps, slots): there the memory is cleared.
        """
        assert self.memory is not None
        encoded = self.encoder(observations.flatten(0, 1)).unflatten(0, fresh.shape)
        states = []
        for now, begins in zip(encoded, fresh, strict=True):
            state = self.memory(now, state * ~begins[:, None])
            states.append(state)
        hidden = self._compare(self.body(torch.cat(states)), observations.flatten(0, 1))
        return hidden.view(*fresh.shape, -1)

    def judge(
        self,
        hidden: Tensor,
        masks: Tensor,
        states: Tensor | None = None,
        seats: Tensor | None = None,
    ) -> tuple[Choice, Tensor]:
        """Return choices and values from the hidden layer; a central critic values states."""
        weight = torch.cat([self.actor.weight, self.critic.weight])  # one product for both
        hidden, fits = hidden[:, : weight.shape[1]], hidden[:, weight.shape[1] :]
        scores = functional.linear(hidden, weight, torch.cat([self.actor.bias, self.critic.bias]))
        chosen = scores[:, :-1] + fits if self.query is not None else scores[:, :-1]
        choice, values = Choice(chosen, masks), scores[:, -1]
        if self.central is not None and states is not None:
            values = self.central(states, seats)
        return choice, values

    def admit(self, observations: Tensor, states: Tensor | None = None) -> bool:
        """Make room for new symbols; return whether any table grew."""
        grown = isinstance(self.encoder, SymbolEncoder) and self.encoder.admit(observations)
        if self.central is not None and self.central.symbols is not None and states is not None:
            grown |= self.central.symbols.admit(self.central.codes(states))
        return grown


@torch.no_grad()
def _keep_long(unit: nn.GRUCell) -> None:
    """Set the biases so that each number is kept for a time from 2 to `LONGEST` steps."""
    size = unit.hidden_size  # biases are those of the gates of reset, of update, and of what is new
    nn.init.zeros_(unit.bias_ih)
    nn.init.zeros_(unit.bias_hh)
    unit.bias_ih[size : 2 * size].uniform_(1.0, LONGEST - 1.0).log_()
    for gate in unit.weight_hh.split(size):
        nn.init.orthogonal_(gate)


def make_room(optimizer: torch.optim.Optimizer) -> None:
    """Lengthen the moments of tables that have grown; the moments of new rows are zero."""
    for parameter, moments in optimizer.state.items():
        for name, moment in moments.items():
            if moment.dim() and moment.shape != parameter.shape:
                longer = torch.zeros_like(parameter.data)
                longer[: len(moment)] = moment
                moments[name] = longer
