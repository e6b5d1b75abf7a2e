"""The channel of array worlds, compiled: messages on their way, and what each agent has heard.

A record keeps the channel in an array of bytes, from index ``w.mail`` on: the key and the counter
of the random stream; for each of the next steps and each sender, the message that arrives then (0
for none, 1 for one to all, ``2 + a`` for one to agent a; its symbols); and for each listener and
each sender, the last messages (1 + steps since it was heard, 0 for none; whether it was for the
listener alone; its symbols). `piase_gym.core.mailbox` defines what all this means; a test checks
that the two agree.

Messages are numbers: 0 is silence; then, for each word in order of length and symbols, the word to
all and, if messages can be for one agent, the word to each agent.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.compiled import helper, inline, load, load64, mix64, store, store64, stream_key
from piase_gym.compiled.draws import GOLDEN
from piase_gym.compiled.stepping import NONE, fields_of
from piase_gym.core.rng import StreamId
from piase_gym.worlds.channel.config import ChannelEnvelope, SymbolConfig

_1, _11 = np.uint64(1), np.uint64(11)
CHANNEL: Final = np.uint64(StreamId.CHANNEL)
KEY, COUNTER, ON_WAY = 0, 8, 16
"""Where the key, the counter and the messages on their way begin."""
FOR_ALL: Final = 1
"""The byte before the symbols of a message for all; it is ``2 + a`` for agent a alone."""
MAX_AGENTS: Final = 32


def channel_fields() -> list[Any]:
    """Return the fields that a table needs for the channel."""
    return [
        # Where the channel lies, -1 for nowhere; its size in bytes; and the sizes of the envelope.
        *fields_of("<i4", "mail mail_size mail_symbols mail_length mail_steps mail_kept mail_ways"),
        ("mail_dated", "<i4"),  # 1 if vectors tell when messages were heard
        *fields_of("<i4", "say_length say_to say_delay say_history"),  # as the config has it
        *fields_of("<f8", "say_loss say_cost say_range"),  # a range below 0 is none
        ("say_heard", "<u4", MAX_AGENTS),  # for each sender, one bit per listener
    ]


def channel_size(envelope: ChannelEnvelope) -> int:
    """Return how many bytes the channel of an envelope takes in a record, a multiple of 8."""
    if not envelope.routed:
        return 0
    agents, word = envelope.agents, envelope.message_length
    on_way = (1 + envelope.message_delay) * agents * (1 + word)
    heard = agents * agents * max(1, envelope.message_history) * (2 + word)
    return -(-(ON_WAY + on_way + heard) // 8) * 8


def fill_channel(table: Any, config: SymbolConfig, envelope: ChannelEnvelope, start: int) -> None:
    """Fill in the fields of the channel, which lies at `start` of the record's bytes."""
    table["mail_size"] = channel_size(envelope)
    table["mail"] = start if envelope.routed else -1
    table["mail_symbols"], table["mail_length"] = envelope.symbols, envelope.message_length
    table["mail_steps"] = 1 + envelope.message_delay
    table["mail_kept"] = max(1, envelope.message_history)
    table["mail_dated"] = envelope.message_history > 0
    table["mail_ways"] = 1 + envelope.agents * envelope.message_to
    table["say_length"], table["say_to"] = config.message_length, config.message_to
    table["say_delay"], table["say_history"] = config.message_delay, config.message_history
    table["say_loss"], table["say_cost"] = config.message_loss, config.message_cost
    table["say_range"] = -1.0 if config.message_range is None else config.message_range
    table["say_heard"][: config.agents] = config.listeners()


def channel_problem(state: Any, table: Any) -> str:
    """Say what is impossible in the channel of a record, or return an empty string."""
    if "mail" not in (state.dtype.names or ()):
        return ""
    record: NDArray[np.uint8] = state["mail"]
    slots, word, kept = (int(table[name]) for name in ("slots", "mail_length", "mail_kept"))
    steps, symbols = int(table["mail_steps"]), int(table["mail_symbols"])
    border = ON_WAY + steps * slots * (1 + word)
    on_way = record[ON_WAY:border].reshape(-1, 1 + word)
    size = slots * slots * kept * (2 + word)
    heard = record[border : border + size].reshape(-1, 2 + word)
    if (on_way[:, 0] > FOR_ALL + slots).any() or (heard[:, 1] > 1).any():
        return "'mail' has messages for nobody"
    if (on_way[:, 1:] > symbols).any() or (heard[:, 2:] > symbols).any():
        return f"'mail' has symbols above {symbols}"
    return ""


# -- what an agent says -------------------------------------------------------------------


@helper
def may_say(w, a, message):
    """Return whether agent `a` may say a message under the config. Silence is always allowed."""
    if w.mail < 0 or message == 0:
        return message <= w.symbols
    ways, base = np.int64(w.mail_ways), np.int64(w.mail_symbols)
    to, word, count = (message - 1) % ways - 1, (message - 1) // ways + 1, 0
    if to >= 0 and (w.say_to == 0 or to >= w.agents or to == a):
        return False
    while word > 0:
        if (word - 1) % base >= w.symbols:
            return False
        word = (word - 1) // base
        count += 1
    return count <= w.say_length


@helper
def first_symbol(w, message):
    """Return the first symbol of a message, or 0 for silence."""
    if w.mail < 0 or message == 0:
        return message
    word, base = (message - 1) // np.int64(w.mail_ways) + 1, np.int64(w.mail_symbols)
    while word > base:
        word = (word - 1) // base
    return word


@helper
def post(box, w, a, message, t):
    """Put the message of agent `a` in step `t` on its way; `may_say` must hold for it."""
    if message == 0:
        return
    ways, base = np.int64(w.mail_ways), np.int64(w.mail_symbols)
    to, word, count = (message - 1) % ways - 1, (message - 1) // ways + 1, 0
    q = entry(w, (t + np.int64(w.say_delay)) % w.mail_steps, a)
    store(box, q, FOR_ALL + 1 + to)
    rest = word
    while rest > 0:
        rest = (rest - 1) // base
        count += 1
    for i in range(w.mail_length):
        store(box, q + 1 + i, 0)
    for i in range(count - 1, -1, -1):
        store(box, q + 1 + i, (word - 1) % base + 1)
        word = (word - 1) // base


@inline
def entry(w, slot, a):
    """Return where the message of agent `a` that arrives in a time slot lies."""
    return np.int64(w.mail) + ON_WAY + (slot * w.slots + a) * (1 + np.int64(w.mail_length))


@inline
def heard_at(w, a, b):
    """Return where the last messages that agent `a` has heard from agent `b` lie."""
    word = np.int64(w.mail_length)
    start = ON_WAY + np.int64(w.mail_steps) * w.slots * (1 + word)
    return np.int64(w.mail) + start + (a * w.slots + b) * w.mail_kept * (2 + word)


# -- what arrives -------------------------------------------------------------------------


@helper
def open_channel(box, w, seed):
    """Start the channel of an episode: nothing is on its way, and nobody has heard anything."""
    for i in range(0, w.mail_size, 8):
        store64(box, np.int64(w.mail) + i, np.uint64(0))
    store64(box, np.int64(w.mail) + KEY, stream_key(seed, CHANNEL))


@helper
def deliver(box, w, t, o, events, x, y):
    """Deliver what arrives in step `t` to all agents that take part in it and hear its sender."""
    grow_older(box, w)
    for b in range(w.agents):
        q = entry(w, t % w.mail_steps, b)
        to = np.int64(load(box, q)) - FOR_ALL - 1
        if to < -1:
            continue
        for a in range(w.agents):
            if events[o + a] != NONE and hears(w, a, b, to, x, y) and not is_lost(box, w):
                hear(box, w, a, b, q, to >= 0)
        store(box, q, 0)


@inline
def hears(w, a, b, to, x, y):
    """Return whether agent `a` can hear what agent `b` says to agent `to`, or to all (-1)."""
    if a == b or (to >= 0 and to != a) or not np.int64(w.say_heard[b]) >> a & 1:
        return False
    far = max(abs(np.int64(x[a]) - np.int64(x[b])), abs(np.int64(y[a]) - np.int64(y[b])))
    return w.say_range < 0.0 or far <= w.say_range


@helper
def is_lost(box, w):
    """Draw whether a message is lost for a listener, as `Mailbox` does."""
    if w.say_loss <= 0.0:
        return False
    place = np.int64(w.mail)
    counter = load64(box, place + COUNTER) + _1
    store64(box, place + COUNTER, counter)
    drawn = mix64(load64(box, place + KEY) + counter * GOLDEN) >> _11
    return np.float64(drawn) * (1.0 / 9007199254740992.0) < w.say_loss


@helper
def hear(box, w, a, b, q, alone):
    """Let agent `a` hear the message of agent `b` that lies at `q`."""
    size, start = 2 + np.int64(w.mail_length), heard_at(w, a, b)
    for i in range(size * w.mail_kept - 1, size - 1, -1):
        store(box, start + i, load(box, start + i - size))
    store(box, start, 1)
    store(box, start + 1, alone)
    for i in range(w.mail_length):
        store(box, start + 2 + i, load(box, q + 1 + i))
    kept = np.int64(w.say_history) if w.say_history > 0 else 1
    for i in range(size * kept, size * w.mail_kept):
        store(box, start + i, 0)


@helper
def grow_older(box, w):
    """Let everything that was heard age by one step; without a history, clear it."""
    size = 2 + np.int64(w.mail_length)
    for a in range(w.agents):
        for b in range(w.agents):
            start = heard_at(w, a, b)
            for k in range(start, start + size * w.mail_kept, size):
                age = np.int64(load(box, k))
                if age > 0 and w.say_history > 0:
                    store(box, k, min(255, age + 1))
                elif age > 0:
                    for i in range(size):
                        store(box, k + i, 0)


@helper
def write_heard(box, w, a, obs, q):
    """Write what agent `a` has heard into a vector, from `q` on, and return where it ends.

    For each sender and each message: its symbols; if messages can be for one agent, whether it was;
    and, with a history, 1 + the steps since it was heard.
    """
    word, size = np.int64(w.mail_length), 2 + np.int64(w.mail_length)
    for b in range(w.slots):
        start = heard_at(w, a, b)
        for k in range(start, start + size * w.mail_kept, size):
            for i in range(word):
                store(obs, q + i, load(box, k + 2 + i))
            q += word
            if w.mail_ways > 1:
                store(obs, q, load(box, k + 1))
                q += 1
            if w.mail_dated:
                store(obs, q, load(box, k))
                q += 1
    return q
