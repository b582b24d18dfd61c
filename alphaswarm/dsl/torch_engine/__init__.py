"""The language on torch tensors: no compiled kernels, so it runs on whatever device torch knows."""

from alphaswarm.dsl.torch_engine.run import run

__all__ = ["run"]
