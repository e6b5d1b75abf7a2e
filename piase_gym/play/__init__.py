"""Worlds for people: play, describe and set them; the terminal and the studio show this."""
