"""The oracle of SocialDilemma and its script."""
