"""The commons: Harvest and Clean-up, on a grid."""
