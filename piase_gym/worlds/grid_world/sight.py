"""What agents see: the compiled writer of vectors and masks.

`piase_gym.worlds.grid_world.views` says in plain Python what each byte means; the kit holds the
two against each other.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from piase_gym.kernels import device, load64, store64
from piase_gym.textcode import HINT_CODE
from piase_gym.worlds.grid_world.cells import AGENT, CLOSED, GOAL, LOCKED, OUTSIDE, UNSEEN, WALL
from piase_gym.worlds.grid_world.rules import DX, DY, STAYING, interaction, top
from piase_gym.worlds.grid_world.state import ILLEGAL, NONE, SCALARS


@device
def frame(s, w, a, obs, p):
    """Copy what agent `a` sees to ``obs[p:]``: the window turned to its heading, or the grid."""
    if w.full_grid:
        base = w.origin[0]
    else:
        h = s.heading[a]
        place = w.origin[h] + s.x[a] * w.step_x[h] + s.y[a] * w.step_y[h]
        base = place - (w.frame_h - 1) * w.stride - w.frame_w // 2
    for row in range(w.frame_h):
        for column in range(0, w.frame_w, 8):
            # The last word of a row runs into the next row, which then overwrites it; after the
            # last row it runs into the scalars, which are written later.
            word = load64(s.maps, base + row * w.stride + column)
            store64(obs, p + row * w.frame_w + column, word)


@device
def shorten(w, obs, p):
    """Blank what lies beyond a window smaller than the envelope's."""
    middle, size = w.frame_w // 2, w.window
    for row in range(w.frame_h):
        for column in range(w.frame_w):
            near = row >= w.frame_h - size and abs(column - middle) <= size // 2
            if not near:
                obs[p + row * w.frame_w + column] = UNSEEN


@device
def opaque(code):
    """Tell whether sight ends at this cell."""
    return code == WALL or code == LOCKED or code == CLOSED or code == OUTSIDE


@device
def occlude(w, obs, p):
    """Blank what is hidden: sight spreads from the viewer's cell to the sides and ahead.

    Row by row, starting with the viewer's, a seen cell that is not opaque shows its neighbours to
    both sides and the three cells ahead of it that touch it on the side the sweep goes to.
    """
    k = w.frame_w
    seen = 1 << (k // 2)
    for row in range(k - 1, -1, -1):
        ahead = 0
        for i in range(k - 1):
            if (seen >> i) & 1 and not opaque(obs[p + row * k + i]):
                seen |= 2 << i
                ahead |= 3 << i
        for i in range(k - 1, 0, -1):
            if (seen >> i) & 1 and not opaque(obs[p + row * k + i]):
                seen |= 1 << (i - 1)
                ahead |= 3 << (i - 1)
        for i in range(k):
            if not (seen >> i) & 1:
                obs[p + row * k + i] = UNSEEN
        seen = ahead


@device
def goal_sense(s, w, a, obs, p, q):
    """Write where the nearest visible goal is, relative to agent `a`; (0, 0) for none."""
    obs[q] = 0
    obs[q + 1] = 0
    nearest = 1 << 30
    h = s.heading[a]
    for g in range(s.num_goals):
        dx, dy = s.goals[g, 0] - s.x[a], s.goals[g, 1] - s.y[a]
        distance = abs(dx) + abs(dy)
        if distance >= nearest:
            continue
        if w.full_grid:
            cell = s.goals[g, 1] * w.frame_w + s.goals[g, 0]
            down, right = dy + 64, dx + 64
        else:
            ahead = dx * DX[h] + dy * DY[h]
            aside = dy * DX[h] - dx * DY[h]
            half = w.frame_w // 2
            if ahead < 0 or ahead >= w.frame_h or aside < -half or aside > half:
                continue
            cell = (w.frame_h - 1 - ahead) * w.frame_w + half + aside
            down, right = ahead + 1, aside + half + 1
        if obs[p + cell] == GOAL:
            nearest = distance
            obs[q], obs[q + 1] = down, right


@device
def sight(s, w, a, obs, p):
    """Write the vector of agent `a` to ``obs[p:p + w.length]``."""
    frame(s, w, a, obs, p)
    if not w.full_grid:
        if w.window < w.frame_w:
            shorten(w, obs, p)
        if w.occlude:
            occlude(w, obs, p)
    q = p + w.frame_w * w.frame_h
    goal_sense(s, w, a, obs, p, q + 6)
    if w.full_grid:
        obs[p + s.y[a] * w.frame_w + s.x[a]] = AGENT + 4 * a + s.heading[a]
    else:
        obs[p + (w.frame_h - 1) * w.frame_w + w.frame_w // 2] = AGENT + 4 * a
    obs[q], obs[q + 1] = s.width, s.height
    obs[q + 2], obs[q + 3] = s.x[a], s.y[a]
    obs[q + 4], obs[q + 5] = s.heading[a], s.carry[a]
    for i in range(HINT_CODE):
        obs[q + 8 + i] = s.hint[a, i]


@device
def legal(s, w, a, masks, m):
    """Write the mask of agent `a` to ``masks[m:m + w.num_actions]``."""
    for i in range(STAYING + 1):
        masks[m + i] = 1
    h = s.heading[a]
    ahead = top(s, w, s.x[a] + DX[h], s.y[a] + DY[h])
    masks[m + STAYING + 1] = interaction(ahead, s.carry[a]) != ILLEGAL


@device
def observe(s, w, o, events, obs, masks):
    """Write vectors and masks of all agents of one environment, whose rows start at `o`.

    An agent that took no part in this step sees nothing and may only stay.
    """
    for a in range(w.slots):
        p, m = (o + a) * w.length, (o + a) * w.num_actions
        if a < w.agents and events[o + a] != NONE:
            sight(s, w, a, obs, p)
            legal(s, w, a, masks, m)
        else:
            for i in range(w.length):
                obs[p + i] = 0
            for i in range(w.num_actions):
                masks[m + i] = i == STAYING


assert SCALARS >= 8  # the last word of a frame may run this far into the scalars
