"""vectorbt's side of a comparison; runs under the Python of benchmarks/oracles.txt, knows nothing of alphaswarm.

    python vectorbt_peer.py equity CASES.npz OUT.npz
    python vectorbt_peer.py seconds CASES.npz OUT.npz

CASES holds, for each k, ``close_k`` [T, N], ``weights_k`` [T, N] (row t decided at close t; a row of NaN orders
nothing) and ``setup_k`` (commission, cash). OUT gets ``equity_k`` [T]; and with `seconds`, of the last case, CPU
seconds of `from_orders` and then `value` (``auto``, ``auto_value``, ``default``, ``default_value``).
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import vectorbt as vbt

REPEATS = 3
# Sells before buys, as our engines trade; or names as they come, which is quicker.
ORDERS = ("auto", "default")


def portfolio(close: pd.DataFrame, weights: np.ndarray, setup: np.ndarray, **other: Any) -> Any:
    """Weights filled at the close after the one that decided them, out of one cash balance."""
    size = np.vstack([np.full((1, close.shape[1]), np.nan), weights[:-1]])
    settings = {"size_type": "targetpercent", "group_by": True, "cash_sharing": True, "call_seq": "auto"} | other
    return vbt.Portfolio.from_orders(close, size, fees=setup[0], init_cash=setup[1], **settings)


def clocked(work: Callable[[], Any]) -> tuple[Any, float]:
    """What `work` returns, and its CPU seconds."""
    begin = time.process_time()
    found = work()
    return found, time.process_time() - begin


def seconds(order: str, close: pd.DataFrame, weights: np.ndarray, setup: np.ndarray) -> dict[str, float]:
    """What `from_orders` takes with orders of a bar in that order, and then `value`; compiled code at hand."""
    portfolio(close[:50], weights[:50], setup, call_seq=order).value()
    made = [clocked(lambda: portfolio(close, weights, setup, call_seq=order)) for _ in range(REPEATS)]
    valued = [clocked(account.value) for account, _ in made]
    return {order: min(spent for _, spent in made), f"{order}_value": min(spent for _, spent in valued)}


def main(wanted: str, cases: str, out: str) -> None:
    """Answer the file of cases."""
    found: dict[str, Any] = {}
    with np.load(cases) as given:
        for k in range(sum(name.startswith("close_") for name in given)):
            case = pd.DataFrame(given[f"close_{k}"]), given[f"weights_{k}"], given[f"setup_{k}"]
            found[f"equity_{k}"] = portfolio(*case).value().to_numpy()
            if wanted == "seconds":
                for order in ORDERS:
                    found |= seconds(order, *case)
    np.savez(out, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
