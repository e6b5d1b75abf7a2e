"""Examples to read and to run; those that train are what `piase` trains with, too."""
