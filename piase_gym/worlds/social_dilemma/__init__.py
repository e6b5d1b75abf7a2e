"""SocialDilemma: matrix games and commons. This package itself imports nothing."""
