"""AlphaSwarm: an agent that researches symbolic alpha factors, and the evidence to trust or drop them."""

__all__ = ["__version__"]

__version__ = "0.1.0"
