"""Environments of one's own, behind the documents' abstract classes, as worlds."""
