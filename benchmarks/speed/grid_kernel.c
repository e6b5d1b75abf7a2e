/* GridWorld by hand: the yardstick that the compiled kernels are measured against.
 *
 * The rules are GridWorld's, but every setting is a constant: layout door_key on 16 by 16 cells with
 * a border, four agents that block each other, a 7 by 7 window that sees through walls, individual
 * default rewards, 256 steps, and an episode that is over restarts in the next step. Every byte
 * written is the one that GridWorld writes for the same seeds and actions.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SIDE = 16, AGENTS = 4, WINDOW = 7, MAX_STEPS = 256, ACTIONS = 6 };
enum { BESIDE = WINDOW / 2, AHEAD = WINDOW - 1, FRAME = WINDOW * WINDOW, LENGTH = FRAME + 16 };

/* A turned map: the grid with as much around it as a window shows. */
enum { STRIDE = SIDE + 2 * BESIDE, MAP = (AHEAD + SIDE) * STRIDE };

enum { OUTSIDE = 1, FLOOR = 2, WALL = 3, GOAL = 4, KEY = 5, LOCKED = 6, CLOSED = 7, OPEN = 8 };
enum { AGENT = 32 }; /* + 4 * number + turn */

enum { NONE, MOVE, REACH_GOAL, STAY, PICK_UP, DROP, OPEN_DOOR, UNLOCK, CLOSE_DOOR, BLOCKED };
enum { NO_KEY = 10, ILLEGAL = 11, LATE = 25 };

static const double REWARD[] = {
    [NONE] = 0.0,        [MOVE] = -0.1,    [REACH_GOAL] = 10.0, [STAY] = -0.05,
    [PICK_UP] = -0.1,    [DROP] = -0.1,    [OPEN_DOOR] = -0.1,  [UNLOCK] = -0.1,
    [CLOSE_DOOR] = -0.1, [BLOCKED] = -1.0, [NO_KEY] = -0.1,     [ILLEGAL] = -1.0,
    [LATE] = -0.1,
};

/* Interacting with a cell, with empty hands and with a key; 0 stands for ILLEGAL. */
static const uint8_t INTERACTION[2][256] = {
    {[LOCKED] = NO_KEY, [CLOSED] = OPEN_DOOR, [OPEN] = CLOSE_DOOR, [KEY] = PICK_UP},
    {[LOCKED] = UNLOCK, [CLOSED] = OPEN_DOOR, [OPEN] = CLOSE_DOOR, [FLOOR] = DROP},
};

/* Milestones as bits. */
static const uint8_t MARK[LATE + 1] = {
    [PICK_UP] = 1, [UNLOCK] = 2, [OPEN_DOOR] = 2, [REACH_GOAL] = 4,
};

/* Headings are up, right, down, left; actions are up, down, left, right, stay, interact. */
enum { STAYING = 4, INTERACTING = 5 };
static const int8_t DX[4] = {0, 1, 0, -1}, DY[4] = {-1, 0, 1, 0};
static const uint8_t HEADING[4] = {0, 2, 3, 1};
static const int STEP[4] = {-STRIDE, 1, STRIDE, -1};

typedef struct {
    uint16_t at[4]; /* where it stands in each of the four maps */
    uint8_t x, y, heading, carry, alive, marks;
    uint8_t can; /* whether interacting was legal in the last observation */
} Agent;

typedef struct {
    uint64_t key, counter, base, episode;
    Agent agents[AGENTS];
    int32_t t;
    uint8_t goal_x, goal_y, over;
    uint8_t cells[SIDE * SIDE];
    uint8_t maps[4][MAP]; /* turned so that heading r is up, with the agents */
    uint8_t spare[8];     /* the last 8-byte copy may run this far */
} Env;

static uint8_t EMPTY[MAP]; /* a room with a border: the same however it is turned */

/* ---- Random numbers: SplitMix64 over a counter ---- */

static const uint64_t GOLDEN = 0x9E3779B97F4A7C15u;

static inline uint64_t mix64(uint64_t v) {
    v = (v ^ (v >> 30)) * 0xBF58476D1CE4E5B9u;
    v = (v ^ (v >> 27)) * 0x94D049BB133111EBu;
    return v ^ (v >> 31);
}

static inline int draw(Env *s, int stop) {
    uint64_t bits = mix64(s->key + ++s->counter * GOLDEN);
    return (int)(((bits >> 32) * (uint64_t)stop) >> 32);
}

/* ---- The four maps ---- */

static inline void locate(int x, int y, uint16_t at[4]) {
    const int last = SIDE - 1, start = AHEAD * STRIDE + BESIDE;
    at[0] = (uint16_t)(start + y * STRIDE + x);
    at[1] = (uint16_t)(start + (last - x) * STRIDE + y);
    at[2] = (uint16_t)(start + (last - y) * STRIDE + last - x);
    at[3] = (uint16_t)(start + x * STRIDE + last - y);
}

static inline void paint(Env *s, const uint16_t at[4], int code) {
    for (int r = 0; r < 4; r++) s->maps[r][at[r]] = (uint8_t)code;
}

static inline void put(Env *s, int x, int y, int code) {
    uint16_t at[4];
    locate(x, y, at);
    s->cells[y * SIDE + x] = (uint8_t)code;
    paint(s, at, code);
}

static inline void paint_agent(Env *s, int a) {
    const Agent *me = &s->agents[a];
    for (int r = 0; r < 4; r++)
        s->maps[r][me->at[r]] = (uint8_t)(AGENT + 4 * a + ((me->heading - r) & 3));
}

/* What is seen one step ahead: an agent, or else the object. */
static inline int ahead(const Env *s, const Agent *me) {
    return s->maps[me->heading][me->at[me->heading] - STRIDE];
}

/* ---- Levels ---- */

/* Takes a random free cell in columns first..last, counted row by row; `free` has a bit a column. */
static int take(Env *s, uint16_t free[SIDE], int first, int last) {
    const unsigned columns = (2u << last) - (1u << first);
    int count = 0, y = 0;
    for (int row = 0; row < SIDE; row++) count += __builtin_popcount(free[row] & columns);
    int left = draw(s, count);
    for (;; y++) {
        int here = __builtin_popcount(free[y] & columns);
        if (left < here) break;
        left -= here;
    }
    unsigned bits = free[y] & columns;
    while (left--) bits &= bits - 1;
    int x = __builtin_ctz(bits);
    free[y] = (uint16_t)(free[y] & ~(1u << x));
    return y * SIDE + x;
}

static void renew(Env *s) {
    const int inner = SIDE - 2, first = 1 + (AGENTS + inner) / inner;
    uint64_t seed = s->base;
    if (s->episode) seed = mix64(mix64(s->base) + s->episode * GOLDEN) >> 1;
    s->key = mix64(mix64(seed + GOLDEN) + GOLDEN);
    s->counter = 0;
    s->t = 0;
    s->over = 0;
    for (int r = 0; r < 4; r++) memcpy(s->maps[r], EMPTY, MAP);
    for (int y = 0; y < SIDE; y++)
        memcpy(s->cells + y * SIDE, EMPTY + (AHEAD + y) * STRIDE + BESIDE, SIDE);

    int split = first + draw(s, inner - first);
    uint16_t free[SIDE] = {0};
    for (int y = 1; y <= inner; y++) {
        put(s, split, y, WALL);
        free[y] = (uint16_t)(((2u << inner) - 2) & ~(1u << split));
    }
    put(s, split, 1 + draw(s, inner), LOCKED);
    int cell = take(s, free, 0, split - 1);
    put(s, cell % SIDE, cell / SIDE, KEY);
    cell = take(s, free, split + 1, SIDE - 1);
    put(s, cell % SIDE, cell / SIDE, GOAL);
    s->goal_x = (uint8_t)(cell % SIDE);
    s->goal_y = (uint8_t)(cell / SIDE);
    for (int a = 0; a < AGENTS; a++) {
        Agent *me = &s->agents[a];
        cell = take(s, free, 0, split - 1);
        me->x = (uint8_t)(cell % SIDE);
        me->y = (uint8_t)(cell / SIDE);
        me->heading = 1;
        me->alive = 1;
        me->carry = me->marks = 0;
        locate(me->x, me->y, me->at);
        paint_agent(s, a);
    }
}

/* ---- Rules ---- */

static inline int walk(Env *s, int a, int heading) {
    Agent *me = &s->agents[a];
    me->heading = (uint8_t)heading;
    int ground = ahead(s, me);
    if (ground != FLOOR && ground != GOAL && ground != OPEN) {
        paint_agent(s, a);
        return BLOCKED;
    }
    paint(s, me->at, s->cells[me->y * SIDE + me->x]);
    me->x = (uint8_t)(me->x + DX[heading]);
    me->y = (uint8_t)(me->y + DY[heading]);
    for (int r = 0; r < 4; r++) me->at[r] = (uint16_t)(me->at[r] + STEP[(heading - r) & 3]);
    if (ground == GOAL) {
        me->alive = 0;
        return REACH_GOAL;
    }
    paint_agent(s, a);
    return MOVE;
}

static inline int interaction(const Env *s, const Agent *me) {
    return INTERACTION[me->carry != 0][ahead(s, me)];
}

static inline int interact(Env *s, int a) {
    Agent *me = &s->agents[a];
    int x = me->x + DX[me->heading], y = me->y + DY[me->heading];
    if (!me->can) return ILLEGAL;
    int event = interaction(s, me);
    switch (event) {
    case NONE: return LATE; /* somebody was faster */
    case PICK_UP: me->carry = KEY; put(s, x, y, FLOOR); break;
    case DROP: put(s, x, y, me->carry); me->carry = 0; break;
    case UNLOCK:
    case OPEN_DOOR: put(s, x, y, OPEN); break;
    case CLOSE_DOOR: put(s, x, y, CLOSED); break;
    }
    return event;
}

/* ---- Outputs ---- */

/* Where the goal is, ahead in the low byte and right in the high one; 0 if it is not in sight.
 * Nothing ever covers the goal, so it is seen wherever the window reaches it. */
static inline uint64_t goal_sense(const Env *s, const Agent *me) {
    int dx = s->goal_x - me->x, dy = s->goal_y - me->y, h = me->heading;
    int up = dx * DX[h] + dy * DY[h], right = dy * DX[h] - dx * DY[h] + BESIDE;
    bool shown = ((unsigned)up < WINDOW) & ((unsigned)right < WINDOW); /* & saves a branch */
    return ((uint64_t)(up + 1) | (uint64_t)(right + 1) << 8) & -(uint64_t)shown;
}

static inline void sight(Env *s, int a, uint8_t *obs, int8_t *mask) {
    Agent *me = &s->agents[a];
    const uint8_t *from = s->maps[me->heading] + me->at[me->heading] - AHEAD * STRIDE - BESIDE;
    /* Eight bytes a row of seven: the next row, and then the scalars, overwrite the eighth. */
    for (int row = 0; row < WINDOW; row++) memcpy(obs + row * WINDOW, from + row * STRIDE, 8);
    uint64_t scalars = SIDE | SIDE << 8 | (uint64_t)me->x << 16 | (uint64_t)me->y << 24 |
                       (uint64_t)me->heading << 32 | (uint64_t)me->carry << 40 |
                       goal_sense(s, me) << 48;
    const uint64_t hint = 0;
    memcpy(obs + FRAME, &scalars, 8);
    memcpy(obs + FRAME + 8, &hint, 8);
    obs[FRAME - 1 - BESIDE] = (uint8_t)(AGENT + 4 * a);
    memset(mask, 1, INTERACTING);
    me->can = interaction(s, me) != NONE;
    mask[INTERACTING] = (int8_t)me->can;
}

static inline void absent(uint8_t *obs, int8_t *mask) {
    memset(obs, 0, LENGTH);
    memset(mask, 0, ACTIONS);
    mask[STAYING] = 1;
}

typedef struct {
    uint8_t *restrict obs;
    int8_t *restrict masks;
    double *restrict rewards;
    uint8_t *restrict terminated, *restrict truncated, *restrict events;
} Outputs;

static inline void observe(Env *s, long row, const Outputs *out) {
    for (int a = 0; a < AGENTS; a++) {
        uint8_t *obs = out->obs + (row + a) * LENGTH;
        int8_t *mask = out->masks + (row + a) * ACTIONS;
        if (out->events[row + a] != NONE)
            sight(s, a, obs, mask);
        else
            absent(obs, mask);
    }
}

static inline void tick(Env *s, long row, const int32_t *acts, const Outputs *out) {
    bool late = ++s->t >= MAX_STEPS, over = true;
    for (int a = 0; a < AGENTS; a++) {
        Agent *me = &s->agents[a];
        int act = acts[row + a], event = NONE;
        if (me->alive) {
            if (act < STAYING)
                event = walk(s, a, HEADING[act]);
            else
                event = act == STAYING ? STAY : interact(s, a);
        }
        me->marks |= MARK[event];
        out->events[row + a] = (uint8_t)event;
        out->rewards[row + a] = REWARD[event];
        out->terminated[row + a] = event == REACH_GOAL;
        out->truncated[row + a] = late && me->alive;
    }
    for (int a = 0; a < AGENTS; a++) {
        if (late) s->agents[a].alive = 0;
        over = over && !s->agents[a].alive;
    }
    s->over = over;
}

static void start(Env *s, long row, const Outputs *out) {
    renew(s);
    for (int a = 0; a < AGENTS; a++) {
        out->rewards[row + a] = 0.0;
        out->terminated[row + a] = out->truncated[row + a] = 0;
        out->events[row + a] = STAY;
    }
    observe(s, row, out);
}

/* ---- What Python calls ---- */

size_t grid_size(void) { return sizeof(Env); }

/* Starts the first episodes; `envs` is zeroed memory for `count` environments. */
void grid_reset(Env *envs, long count, uint64_t seed, const Outputs *out) {
    memset(EMPTY, OUTSIDE, MAP);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            bool edge = x == 0 || y == 0 || x == SIDE - 1 || y == SIDE - 1;
            EMPTY[(AHEAD + y) * STRIDE + BESIDE + x] = edge ? WALL : FLOOR;
        }
    for (long e = 0; e < count; e++) {
        envs[e].base = seed + (uint64_t)e;
        start(&envs[e], e * AGENTS, out);
    }
}

/* Returns 0, or -1 - i if act i is not in the table; nothing has changed then. */
long grid_step(Env *envs, long count, const int32_t *acts, const Outputs *out) {
    uint32_t stray = 0;
    for (long i = 0; i < count * AGENTS; i++) stray |= (uint32_t)acts[i] >= ACTIONS;
    for (long i = 0; stray; i++)
        if ((uint32_t)acts[i] >= ACTIONS) return -1 - i;
    const Outputs o = *out;
    for (long e = 0; e < count; e++) {
        Env *s = &envs[e];
        if (s->over) {
            s->episode++;
            start(s, e * AGENTS, &o);
        } else {
            tick(s, e * AGENTS, acts, &o);
            observe(s, e * AGENTS, &o);
        }
    }
    return 0;
}
