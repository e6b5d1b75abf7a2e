"""Real windows: found by title or region, seen with mss, driven with keys through pyautogui.

Titles are looked up with Xlib where there is an X server, and with pygetwindow (which comes with
pyautogui) on Windows; a region of the screen needs neither. A window is raised and gets the focus
before it is seen or driven, since mss sees what is on the screen and keys go where the focus is.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import time
import warnings
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from piase_gym.errors import ConfigError, MissingExtraError, WindowError, need
from piase_gym.worlds.describing import Picture

NAMED = "ScreenSearch"
FOCUS_WAIT = 0.05
"""Seconds that a window has to come to the front."""


class Reason(StrEnum):
    """Why a window cannot be used; ``info["reason"]`` at an episode's end."""

    NO_DISPLAY = "no_display"
    NO_WINDOW = "no_window"
    WINDOW_CLOSED = "window_closed"
    STOPPED = "stopped"


class Area(NamedTuple):
    """A part of the screen, in pixels."""

    left: int
    top: int
    width: int
    height: int


class Window:
    """A window, or a region of the screen; nothing is opened before `find`.

    Args:
        title: A part of its title, in any case; the first window that matches is taken.
        region: The part of the screen, if no title is given. Keys then go where the focus is.
    """

    def __init__(self, title: str | None, region: tuple[int, int, int, int] | None) -> None:
        self.title = title
        self.region = None if region is None else Area(*region)
        self._handle: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle without the handle; it is found again when it is needed."""
        return {**self.__dict__, "_handle": None}

    def find(self) -> None:
        """Find the window, or find it again.

        Raises:
            WindowError: If there is no display, or no such window.
            MissingExtraError: If mss or pyautogui is not installed.
        """
        display = _display()
        if self.title is not None:
            self._handle = display.find(self.title)
        self._window_box()

    def see(self) -> Picture:
        """Return what the window shows.

        Raises:
            WindowError: If it is closed, or not on the screen.
        """
        area, display = self._window_box(), _display()
        display.front(self._handle)
        return display.grab(area)

    def press(self, keys: str, seconds: float) -> None:
        """Hold keys (``w``, ``shift+left``) down in the window for some seconds.

        Raises:
            WindowError: If it is closed, or the user stopped it with the mouse in a corner.
        """
        self._window_box()
        display = _display()
        display.front(self._handle)
        display.press(keys.split("+"), seconds)

    def check_keys(self, names: list[str]) -> None:
        """Check that keys can be pressed here.

        Raises:
            ConfigError: If one has no such name.
        """
        keyboard = _display().keyboard
        for keys in names:
            for key in keys.split("+"):
                if not keyboard.isValidKey(key):
                    raise ConfigError(
                        f"{NAMED}: there is no key {key!r}; names are those of pyautogui, such as "
                        "'w', 'left', 'space', 'shift+left'"
                    )

    def _window_box(self) -> Area:
        """Return where the window is on the screen now."""
        display = _display()
        if self.title is not None and self._handle is None:  # in a copy
            self._handle = display.find(self.title)
        area: Area = self.region or display.area(self._handle)
        screen = display.screen
        left, top = max(area.left, screen.left), max(area.top, screen.top)
        right = min(area.left + area.width, screen.left + screen.width)
        bottom = min(area.top + area.height, screen.top + screen.height)
        if right <= left or bottom <= top:
            said = f"the window {self.title!r}" if self.title else f"the region {tuple(area)}"
            raise WindowError(Reason.NO_WINDOW, f"{said} is not on the screen")
        return Area(left, top, right - left, bottom - top)


_OPEN: dict[tuple[int, str | None], _Display] = {}


def _display() -> _Display:
    """Return the connection of this process to its display; one is enough for all windows.

    Raises:
        WindowError: If there is no display.
        MissingExtraError: If mss or pyautogui is not installed.
    """
    key = os.getpid(), os.environ.get("DISPLAY")
    if key not in _OPEN:
        _OPEN.clear()
        _OPEN[key] = _Display()
    return _OPEN[key]


class _Display:
    """A connection to the display: a camera, a keyboard, and titles of windows."""

    def __init__(self) -> None:
        """Connect."""
        what = f"{NAMED} (windows are seen and driven)"
        mss = need("mss", what, "screen")
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # Xlib prints, and leaves files open
            self.keyboard = _keyboard(what)
            try:
                self.camera = mss.MSS()
                screen = self.camera.monitors[0]
                self.titles: Any = _x_display() if _has_x() else None
            except MissingExtraError:
                raise
            except Exception as error:
                raise _no_display(error) from None
        self.screen = Area(screen["left"], screen["top"], screen["width"], screen["height"])

    def grab(self, area: Area) -> Picture:
        """Return what a part of the screen shows."""
        try:
            shot = self.camera.grab(area._asdict())
        except Exception as error:
            _OPEN.clear()  # perhaps it can be opened again
            raise WindowError(Reason.NO_DISPLAY, f"the screen cannot be seen: {error}") from None
        pixels = np.frombuffer(shot.rgb, np.uint8)
        return pixels.reshape(shot.height, shot.width, 3).copy()

    def press(self, keys: list[str], seconds: float) -> None:
        """Hold keys down together for some seconds."""
        keyboard = self.keyboard
        try:
            for key in keys:
                keyboard.keyDown(key, _pause=False)
            time.sleep(seconds)
        except keyboard.FailSafeException:
            said = "the mouse is in a corner of the screen, which stops the keys"
            raise WindowError(Reason.STOPPED, said) from None
        except Exception as error:
            raise WindowError(Reason.NO_DISPLAY, f"keys cannot be pressed: {error}") from None
        finally:
            for key in reversed(keys):
                with contextlib.suppress(Exception):
                    keyboard.platformModule._keyUp(key)  # without another look at the mouse

    # -- windows by title -----------------------------------------------------------------

    def find(self, title: str) -> Any:
        """Return the first window with these words in its title."""
        rows = self._x_windows() if self.titles is not None else self._other_windows()
        for name, window in rows:
            if title.lower() in name.lower():
                return window
        known = ", ".join(repr(name) for name, _ in rows[:20]) or "none"
        raise WindowError(Reason.NO_WINDOW, f"no window has {title!r} in its title; open: {known}")

    def _x_windows(self) -> list[tuple[str, Any]]:
        """Return the windows that are shown, with their titles, the topmost first."""
        found: list[tuple[str, Any]] = []
        todo = [self.titles.screen().root]
        while todo:
            window = todo.pop()
            with contextlib.suppress(Exception):  # windows come and go
                if (name := _x_title(window, self.titles)) and _x_shown(window):
                    found.append((name, window))
                todo += window.query_tree().children
        return found

    def _other_windows(self) -> list[tuple[str, Any]]:
        """Return the windows that pygetwindow knows, which works only on Windows."""
        try:
            rows = self.keyboard.getAllWindows()
        except Exception:
            said = f"windows cannot be found by title on {sys.platform}; give region=(…)"
            raise WindowError(Reason.NO_WINDOW, said) from None
        return [(row.title, row) for row in rows if row.title]

    def area(self, window: Any) -> Area:
        """Return where a window is."""
        try:
            if self.titles is None:
                return Area(window.left, window.top, window.width, window.height)
            if not _x_shown(window):
                raise WindowError(Reason.WINDOW_CLOSED, "the window is hidden or closed")
            size = window.get_geometry()
            corner = window.translate_coords(self.titles.screen().root, 0, 0)
            return Area(-corner.x, -corner.y, size.width, size.height)
        except WindowError:
            raise
        except Exception as error:
            raise _lost(error) from None

    def front(self, window: Any) -> None:
        """Bring a window to the front and give it the focus; do nothing for a region."""
        if window is None:
            return
        try:
            if self.titles is None:
                window.activate()
            elif not _x_focused(window, self.titles):
                _x_activate(window, self.titles)
            else:
                return
        except Exception as error:
            raise _lost(error) from None
        time.sleep(FOCUS_WAIT)


def _lost(error: Exception) -> WindowError:
    """Return the error for a window that is closed, or for a display that is closed with it."""
    # If the server answers, the error is an XError; all else that Xlib raises means no answer.
    if not _has_x() or isinstance(error, importlib.import_module("Xlib.error").XError):
        return WindowError(Reason.WINDOW_CLOSED, "the window is closed")
    _OPEN.clear()
    return WindowError(Reason.NO_DISPLAY, "the display is closed")


def _no_display(error: BaseException) -> WindowError:
    """Return an error that says that there is no display, and what may be wrong."""
    shown, message = os.environ.get("DISPLAY"), " ".join(str(error).split())[:200]
    if _has_x():
        if shown is None:
            return WindowError(Reason.NO_DISPLAY, "no display can be used: DISPLAY is not set")
        message = f"DISPLAY is {shown!r}; {message}"
    if "Xauthority" in message:
        message += "; create that file, empty, if the display needs none"
    return WindowError(Reason.NO_DISPLAY, f"no display can be used: {message}")


def _keyboard(what: str) -> Any:
    """Import pyautogui, which connects to the display as it is imported."""
    try:
        return need("pyautogui", what, "screen")
    except MissingExtraError:
        raise
    except (Exception, SystemExit) as error:  # it exits where tkinter is missing
        for name in [name for name in sys.modules if name.split(".")[0] in _HALF_IMPORTED]:
            del sys.modules[name]
        raise _no_display(error) from None


_HALF_IMPORTED = ("pyautogui", "mouseinfo")


def _has_x() -> bool:
    """Return whether windows are those of an X server."""
    return sys.platform not in ("win32", "darwin")


# -- the X window system ----------------------------------------------------------------------


def _x_display() -> Any:
    """Connect to the X server (Xlib comes with pyautogui)."""
    display = importlib.import_module("Xlib.display").Display()
    display.set_error_handler(lambda *_: None)  # a window that has gone is noticed when we look
    return display


def _x_title(window: Any, display: Any) -> str:
    """Return the title of a window, or ""."""
    kind = display.intern_atom("_NET_WM_NAME")
    row = window.get_full_property(kind, display.intern_atom("UTF8_STRING"))
    title = row.value if row is not None else window.get_wm_name() or ""
    return title.decode("utf-8", "replace") if isinstance(title, bytes) else str(title)


def _x_shown(window: Any) -> bool:
    """Return whether a window is on the screen."""
    return bool(window.get_attributes().map_state == 2)


def _x_focused(window: Any, display: Any) -> bool:
    """Return whether keys go to a window, or to one within it."""
    focus = display.get_input_focus().focus
    while not isinstance(focus, int):
        if focus.id == window.id:
            return True
        focus = focus.query_tree().parent
        if focus == 0 or focus is None:
            return False
    return False


def _x_activate(window: Any, display: Any) -> None:
    """Activate a window: ask the window manager, if there is one, and also do it directly."""
    x, event = importlib.import_module("Xlib.X"), importlib.import_module("Xlib.protocol.event")
    kind = display.intern_atom("_NET_ACTIVE_WINDOW")
    asked = event.ClientMessage(window=window, client_type=kind, data=(32, [2, 0, 0, 0, 0]))
    mask = x.SubstructureRedirectMask | x.SubstructureNotifyMask
    display.screen().root.send_event(asked, event_mask=mask)
    window.configure(stack_mode=x.Above)
    window.set_input_focus(x.RevertToParent, x.CurrentTime)
    display.sync()
