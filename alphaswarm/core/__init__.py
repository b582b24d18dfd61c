"""The nouns that every floor shares, and the errors it raises."""

from alphaswarm.core.errors import (
    AlphaSwarmError,
    BudgetExceeded,
    DataInvalid,
    EvidenceInvalid,
    ExpressionError,
    FieldNotFound,
    ProgramError,
    ProviderError,
    Reason,
    SpecInvalid,
    StoreBusy,
    StoreError,
    UnknownField,
    UnknownName,
    UnsafeArtifact,
    WeightsInvalid,
)
from alphaswarm.core.files import atomic_write
from alphaswarm.core.panel import Panel
from alphaswarm.core.registry import Registry
from alphaswarm.core.runtime import Clock, FixedClock, SystemClock, make_rng
from alphaswarm.core.spec import load_spec, resolve_class
from alphaswarm.core.store import Store
from alphaswarm.core.summary import Summary, canonical_json, content_key
from alphaswarm.core.weights import TargetWeights

__all__ = [
    "AlphaSwarmError",
    "BudgetExceeded",
    "Clock",
    "DataInvalid",
    "EvidenceInvalid",
    "ExpressionError",
    "FieldNotFound",
    "FixedClock",
    "Panel",
    "ProgramError",
    "ProviderError",
    "Reason",
    "Registry",
    "SpecInvalid",
    "Store",
    "StoreBusy",
    "StoreError",
    "Summary",
    "SystemClock",
    "TargetWeights",
    "UnknownField",
    "UnknownName",
    "UnsafeArtifact",
    "WeightsInvalid",
    "atomic_write",
    "canonical_json",
    "content_key",
    "load_spec",
    "make_rng",
    "resolve_class",
]
