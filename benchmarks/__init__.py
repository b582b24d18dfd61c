"""Whole-process timings. Figures are claimed from here only."""
