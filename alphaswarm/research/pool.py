"""`Pool`: the confirmed factors, what each adds, their combination, and the one look into the vault."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection, insert, select

from alphaswarm.core import Clock, EvidenceInvalid, Store, canonical_json, content_key
from alphaswarm.research.examine import checked, factor_values
from alphaswarm.research.finalists import Finalists
from alphaswarm.research.panels import OpenPanel, Panels
from alphaswarm.research.tables import insert_once, pool, vault_reads
from alphaswarm.research.trial import Trial

if TYPE_CHECKING:
    from alphaswarm.backtest import Fill, RankedRows
    from alphaswarm.evaluation import Evaluator, FactorSeries
    from alphaswarm.evaluation.verdict import Verdict

__all__ = ["Member", "Pool", "PoolState"]

Array = NDArray[np.float64]

# Rank correlation from which two factors are one.
SAME_FACTOR = 0.99


class Member(BaseModel):
    """A confirmed factor in the pool; the figures are those of the search window, turned to its sign."""

    model_config = ConfigDict(frozen=True)

    trial: str
    expression: str
    digest: str
    sign: int
    tradable: bool
    words: str = Field(description="its verdict in one sentence")
    net_sharpe: float | None = Field(default=None, description="yearly, at the cost of its verdict")
    evidence_z: float | None = None
    weight: float | None = Field(default=None, description="share in the combination")
    marginal: float | None = Field(default=None, description="ICIR of the combination with it, less that without it")
    correlations: dict[str, float | None] = Field(default={}, description="of values, to the other members by digest")


class PoolState(BaseModel):
    """The pool of one lineage, horizon and fill. Figures of selection and vault are there after a release only."""

    model_config = ConfigDict(frozen=True)

    panel: str
    lineage: str
    horizon: int
    fill: str
    content: str | None = Field(description="key of what is in it: a vault is read once for each content")
    members: list[Member]
    combination: dict[str, Any] | None = Field(default=None, description="of two members or more, on search")
    released: dict[str, Any] | None = Field(
        default=None, description="what the vault showed of this content, when it was read"
    )


@dataclass(frozen=True, eq=False)
class _Measured:
    """Members on one window: factor values, their ranks, and daily series turned to their signs."""

    factors: tuple[Array, ...]
    series: tuple[FactorSeries, ...]

    def evidence(self, signs: Sequence[int]) -> Array:
        """Daily evidence of each turned to its sign, [S, D]."""
        return np.stack([sign * series.evidence for sign, series in zip(signs, self.series, strict=True)])


class Pool:
    """The pools of a workspace. What happens to them is only ever added to."""

    def __init__(self, store: Store, clock: Clock, panels: Panels) -> None:
        self._store = store
        self._clock = clock
        self._panels = panels
        self._finalists = Finalists(store, clock)

    def add(self, opened: OpenPanel, verdict: Verdict) -> PoolState:
        """Take a factor in; adding it again changes nothing.

        Raises:
            EvidenceInvalid: its verdict does not confirm it, or a member ranks the names as it does: a pool that
                differs by a spelling would open the vault again.
        """
        if verdict.status != "confirmed":
            raise EvidenceInvalid(f"the pool takes confirmed factors only; this one: {verdict.words}")
        self._refuse_twin(opened, verdict)
        entry = {
            "digest": verdict.digest,
            "horizon": verdict.horizon,
            "fill": verdict.fill,
            "sign": verdict.sign,
            "expression": verdict.expression,
            "tradable": verdict.tradable,
            "words": verdict.words,
            "net_sharpe": verdict.reported.get("book", {}).get("net_sharpe"),
        }
        named = {name: entry[name] for name in ("digest", "horizon", "fill")} | {"lineage": verdict.lineage}
        row = {
            "key": content_key({"event": "add"} | named),
            "event": "add",
            "lineage": verdict.lineage,
            "trial": verdict.trial,
            "body": canonical_json(entry).decode(),
            "created": self._clock.now().isoformat(),
        }
        with self._store.write() as connection:
            insert_once(connection, pool, row)
        return self.state(opened, verdict.horizon, verdict.fill)

    def state(self, opened: OpenPanel, horizon: int, fill: str) -> PoolState:
        """Members, their shares and what each adds on search; what was released, if it was."""
        from alphaswarm.evaluation.ic import information_ratio
        from alphaswarm.evaluation.mean_test import mean_z
        from alphaswarm.evaluation.pool import combine, marginal_contributions

        members = self._members(opened.lineage, horizon, fill)
        content = _content(opened.lineage, horizon, fill, members) if members else None
        combination: dict[str, Any] | None = None
        if members:
            signs = [member.sign for member in members]
            measured = self._on_search(opened, members, horizon, fill)
            evidence = measured.evidence(signs)
            weights = combine(evidence)
            members = self._described(members, measured, weights, marginal_contributions(evidence))
            if len(members) > 1:
                together = weights @ evidence
                combination = {
                    "method": "ridge",
                    "weights": {member.digest: member.weight for member in members},
                    "evidence_icir": information_ratio(together),
                    "evidence_z": mean_z(together, horizon=horizon),
                }
        return PoolState(
            panel=opened.name,
            lineage=opened.lineage,
            horizon=horizon,
            fill=fill,
            content=content,
            members=members,
            combination=combination,
            released=None if content is None else self._released(content),
        )

    def labels(self, lineage: str) -> list[tuple[int, str]]:
        """Horizon and fill of each pool of a lineage that has a member."""
        with self._store.read() as connection:
            return sorted({(entry["horizon"], entry["fill"]) for _, entry in self._entries(connection, lineage)})

    def likeness(
        self, opened: OpenPanel, trial: Trial, factor: Array, series: FactorSeries
    ) -> tuple[float, float | None] | None:
        """The largest absolute correlation of a factor to a member, in values or in daily results, on search.

        Returns:
            The correlation and the best net Sharpe ratio among the members that are so like it that it matters;
            None where the pool has no other member.
        """
        from alphaswarm.backtest import rank_rows
        from alphaswarm.evaluation.gates import DISTINCT
        from alphaswarm.evaluation.pool import result_correlation, value_correlation

        others = [m for m in self._members(opened.lineage, trial.horizon, trial.fill) if m.digest != trial.digest]
        if not others:
            return None
        rows = opened.window.rows(opened.seen.dates)
        mine = rank_rows(factor[rows])
        measured = self._on_search(opened, others, trial.horizon, trial.fill)
        found: list[tuple[float, float | None]] = []
        for member, values, theirs in zip(others, measured.factors, measured.series, strict=True):
            by_value = abs(value_correlation(mine, rank_rows(values[rows])) or 0.0)
            by_result = abs(result_correlation(series.gross, theirs.gross))
            found.append((max(by_value, by_result), member.net_sharpe))
        largest = max(found, key=lambda pair: pair[0])
        rivals = [sharpe for size, sharpe in found if size >= DISTINCT and sharpe is not None]
        return largest[0], max(rivals) if rivals else largest[1]

    def _refuse_twin(self, opened: OpenPanel, verdict: Verdict) -> None:
        from alphaswarm.backtest import rank_rows
        from alphaswarm.evaluation.pool import value_correlation

        others = [m for m in self._members(opened.lineage, verdict.horizon, verdict.fill) if m.digest != verdict.digest]
        rows = opened.window.rows(opened.seen.dates)

        def ranks(expression: str) -> RankedRows:
            return rank_rows(factor_values(checked(expression, opened.panel), opened.seen)[rows])

        mine = ranks(verdict.expression) if others else None
        for member in others:
            if mine is not None and abs(value_correlation(mine, ranks(member.expression)) or 0.0) >= SAME_FACTOR:
                raise EvidenceInvalid(f"the pool holds this factor already, as {member.expression}")

    def release(self, opened: OpenPanel, horizon: int, fill: str) -> PoolState:
        """Judge the combination as one more finalist, then read the vault, once for what the pool holds now.

        The read is logged, with what it shows, before anybody is shown it.

        Raises:
            EvidenceInvalid: the pool is empty, or the vault was read for this content before.
        """
        members = self._members(opened.lineage, horizon, fill)
        if not members:
            raise EvidenceInvalid(f"there is nothing to release: the pool of {opened.lineage!r} is empty")
        content = _content(opened.lineage, horizon, fill, members)
        self._refuse_second(content)
        vault = self._panels.vault_evaluator(opened, horizon, cast("Fill", fill))
        number = len(self._panels.selections.all(opened.lineage))
        selection = self._panels.selection_evaluator(opened, horizon, cast("Fill", fill), number)
        weights, sent = self._judge_combination(opened, members, content, selection, number, horizon, fill)
        body = {
            "members": [m.model_dump(mode="json", include={"trial", "expression", "digest", "sign"}) for m in members],
            "weights": weights.tolist(),
            "combination": sent,
            "selection": self._figures(opened, selection, members, weights),
            "vault": self._figures(opened, vault, members, weights),
        }
        with self._store.write() as connection:
            row = {
                "key": content,
                "lineage": opened.lineage,
                "body": canonical_json(body).decode(),
                "created": self._clock.now().isoformat(),
            }
            added = insert_once(connection, vault_reads, row)
            if added:
                event = {
                    "event": "release",
                    "lineage": opened.lineage,
                    "trial": None,
                    "body": canonical_json({"content": content}).decode(),
                }
                key = content_key({"event": "release", "content": content})
                connection.execute(insert(pool).values({**event, "key": key, "created": row["created"]}))
        if not added:
            self._refuse_second(content)
        return self.state(opened, horizon, fill)

    # What is kept

    def _entries(self, connection: Connection, lineage: str) -> list[tuple[str, dict[str, Any]]]:
        here = (pool.c.lineage == lineage) & (pool.c.event == "add")
        rows = connection.execute(select(pool.c.trial, pool.c.body).where(here).order_by(pool.c.seq))
        return [(trial, json.loads(body)) for trial, body in rows]

    def _members(self, lineage: str, horizon: int, fill: str) -> list[Member]:
        with self._store.read() as connection:
            entries = self._entries(connection, lineage)
        names = ("expression", "digest", "sign", "tradable", "words", "net_sharpe")
        return [
            Member(trial=trial, **{name: entry[name] for name in names})
            for trial, entry in entries
            if (entry["horizon"], entry["fill"]) == (horizon, fill)
        ]

    def _released(self, content: str) -> dict[str, Any] | None:
        with self._store.read() as connection:
            query = select(vault_reads.c.body, vault_reads.c.created).where(vault_reads.c.key == content)
            row = connection.execute(query).one_or_none()
        return None if row is None else {"read": row.created, **json.loads(row.body)}

    def _refuse_second(self, content: str) -> None:
        before = self._released(content)
        if before is not None:
            raise EvidenceInvalid(
                f"the vault was read for this pool on {before['read'][:10]}, and is read once for each content: "
                "`alphaswarm pool list` shows what it said"
            )

    # What is measured

    def _on_search(self, opened: OpenPanel, members: Sequence[Member], horizon: int, fill: str) -> _Measured:
        factors = [factor_values(checked(member.expression, opened.panel), opened.seen) for member in members]
        series = [self._panels.evidence(opened, factor, horizon, cast("Fill", fill))[1] for factor in factors]
        return _Measured(tuple(factors), tuple(series))

    def _described(
        self, members: Sequence[Member], measured: _Measured, weights: Array, marginal: Sequence[float]
    ) -> list[Member]:
        from alphaswarm.backtest import rank_rows
        from alphaswarm.evaluation.mean_test import mean_z
        from alphaswarm.evaluation.pool import value_correlation

        ranks: list[RankedRows] = [rank_rows(factor) for factor in measured.factors]
        out = []
        for place, member in enumerate(members):
            series = measured.series[place]
            others = {
                other.digest: _known(member.sign * other.sign, value_correlation(ranks[place], ranks[k]))
                for k, other in enumerate(members)
                if k != place
            }
            z = mean_z(series.evidence, horizon=series.horizon)
            update = {
                "weight": float(weights[place]),
                "marginal": float(marginal[place]),
                "correlations": others,
                "evidence_z": _known(member.sign, z),
            }
            out.append(member.model_copy(update=update))
        return out

    def _judge_combination(
        self,
        opened: OpenPanel,
        members: Sequence[Member],
        content: str,
        selection: Evaluator,
        number: int,
        horizon: int,
        fill: str,
    ) -> tuple[Array, dict[str, Any] | None]:
        """Weights fitted on search; of two members or more, K and whether the selection window confirms them."""
        from alphaswarm.evaluation import mean_z
        from alphaswarm.evaluation.gates import confirmation_gate
        from alphaswarm.evaluation.pool import blend, combine

        signs = [member.sign for member in members]
        weights = combine(self._on_search(opened, members, horizon, fill).evidence(signs))
        if len(members) == 1:
            return weights, None
        entry = {
            "digest": content,
            "horizon": horizon,
            "fill": fill,
            "sign": 1,
            "body": {"combination": [member.digest for member in members], "weights": weights.tolist()},
        }
        (sent,) = self._finalists.send(opened.lineage, number, [entry]).values()
        factors = [factor_values(checked(member.expression, opened.panel), selection.panel) for member in members]
        series = selection.series(blend(factors, signs, weights))
        gate = confirmation_gate(mean_z(series.evidence, horizon=horizon), 1, sent.k)
        return weights, {"k": sent.k, "hurdle": gate.threshold, "confirmed": bool(gate.passed)}

    def _figures(
        self, opened: OpenPanel, evaluator: Evaluator, members: Sequence[Member], weights: Array
    ) -> dict[str, Any]:
        """What a released window shows of each member and of the combination."""
        from alphaswarm.evaluation.pool import blend

        factors = [factor_values(checked(member.expression, opened.panel), evaluator.panel) for member in members]
        shown = [_shown(evaluator, factor, member.sign) for factor, member in zip(factors, members, strict=True)]
        whole = None
        if len(members) > 1:
            whole = _shown(evaluator, blend(factors, [member.sign for member in members], weights), 1)
        return {"window": evaluator.window.to_dict(), "members": shown, "combination": whole}


def _shown(evaluator: Evaluator, factor: Array, sign: int) -> dict[str, Any]:
    from alphaswarm.evaluation.evidence import summarise
    from alphaswarm.evaluation.gates import book_figures

    series = evaluator.series(factor)
    found = summarise(series, evaluator.window)
    book = book_figures(series, sign, series.cost_bp)
    return {
        "evidence_z": _known(sign, found.evidence_z),
        "rank_ic": _known(sign, found.rank_ic),
        "rank_ic_t": _known(sign, found.rank_ic_t),
        "residual_rank_ic_t": _known(sign, found.residual_rank_ic_t),
        "sharpe": book.sharpe,
        "net_sharpe": book.net_sharpe,
        "breakeven_bp": book.breakeven_bp,
        "turnover": book.turnover,
        "n_days": found.n_days,
    }


def _known(sign: int, value: float | None) -> float | None:
    return None if value is None else sign * value


def _content(lineage: str, horizon: int, fill: str, members: Sequence[Member]) -> str:
    held: Mapping[str, Any] = {
        "lineage": lineage,
        "horizon": horizon,
        "fill": fill,
        "members": sorted((member.digest, member.sign) for member in members),
    }
    return content_key(held)
