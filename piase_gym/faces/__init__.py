"""Faces: APIs over a world. A face translates names, actions and views; it holds no rule."""
