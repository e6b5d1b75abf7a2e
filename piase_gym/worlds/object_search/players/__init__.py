"""Players of ObjectSearch by rule."""
