"""What worlds on grids share: codes and prose of cells, figures, what is hidden or in the way."""
