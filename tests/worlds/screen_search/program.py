"""A program with a window, for tests: a wall of coloured squares along which its keys move a view.

``python program.py TITLE LEFT TOP`` prints "ready", then every key that it gets. "d" and "a" move
the view by 40 pixels, "left" and "right" by 200; "q" closes the window.
"""

from __future__ import annotations

import sys
from typing import Any

SIZE = (320, 240)
SIDE = 40
WALL = {"red": 60, "green": 260, "blue": 460, "yellow": 660}
"""Where on the wall each square begins; all are 100 pixels from the top."""
COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 180, 60),
    "blue": (40, 90, 220),
    "yellow": (240, 215, 40),
}
STEPS = {"d": 40, "a": -40, "right": 200, "left": -200}


def shown(view: int) -> dict[str, tuple[int, int, int, int]]:
    """Return what can be seen of the squares: left, top, right and bottom in the window."""
    boxes = {}
    for name, start in WALL.items():
        left, right = max(0, start - view), min(SIZE[0], start + SIDE - view)
        if right > left:
            boxes[name] = (left, 100, right, 100 + SIDE)
    return boxes


def main(title: str, left: int, top: int) -> None:
    """Show the window until it is closed."""
    import pygame

    pygame.display.init()
    screen: Any = pygame.display.set_mode(SIZE, pygame.NOFRAME)
    pygame.display.set_caption(title)
    pygame.display.set_window_position((left, top))
    clock, view = pygame.time.Clock(), 0
    said_ready = False
    while True:
        for event in pygame.event.get():
            if event.type == pygame.KEYDOWN:
                key = pygame.key.name(event.key)
                mods = "shift+" if event.mod & pygame.KMOD_SHIFT and len(key) > 1 else ""
                sys.stdout.write(f"{mods}{key}\n")
                sys.stdout.flush()
                view += STEPS.get(key, 0)
                if key == "q":
                    return
        screen.fill((30, 30, 40))
        for name, (x, y, right, bottom) in shown(view).items():
            pygame.draw.rect(screen, COLOURS[name], (x, y, right - x, bottom - y))
        pygame.display.flip()
        if not said_ready:
            said_ready = True
            sys.stdout.write("ready\n")
            sys.stdout.flush()
        clock.tick(100)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
