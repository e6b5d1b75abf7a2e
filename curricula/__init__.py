"""The dynamic scenario engine: curricula as data, and the code that runs them."""
