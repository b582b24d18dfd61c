"""Expressions one bar at a time, for live use."""

from alphaswarm.dsl.stepper.stepper import Stepper

__all__ = ["Stepper"]
