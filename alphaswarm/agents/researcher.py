"""`AlphaResearcher`: the loop from an intent to evaluated, criticised and stored candidates.

recall -> propose -> validate -> deduplicate -> evaluate -> critique -> store -> decide, round after
round, as a flat graph whose state is saved after each node. A node that was cut off runs again from
its start; whatever it had done is found again by content key, so nothing is done twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from langgraph.errors import GraphDrained
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import RunControl
from langgraph.types import Command, interrupt

from alphaswarm.agents.checkpoint import DamagedCheckpoint, forget_old, open_checkpoint, set_aside_damaged
from alphaswarm.agents.critic import Critique, criticise
from alphaswarm.agents.lessons import LESSON_STATUSES, lessons_of
from alphaswarm.agents.proposers.base import Proposal, ProposalRequest, Proposer
from alphaswarm.agents.state import Candidate, RunState, strength
from alphaswarm.agents.tools import Answer, Tools
from alphaswarm.core.errors import BudgetExceeded, ExpressionError, ProviderError, Reason, SpecInvalid
from alphaswarm.core.files import atomic_write
from alphaswarm.dsl import parse

if TYPE_CHECKING:
    import mcp
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

__all__ = ["AlphaResearcher"]

# Rounds in a row that bring nothing which this run has not had, after which it ends.
PATIENCE = 30
# Trials of earlier runs that are recalled for one of the budget, at most: recalling is free, but not for ever.
RECALLED_PER_TRIAL = 10
SMALLEST_BUDGET = 30
MEMORY_HITS = 5
LESSON_HITS = 20
# A candidate that behaves like a stored trial to this rank correlation is that trial in other words.
SAME_BEHAVIOUR = 0.98
# What a person is shown before anything is sent to the selection window.
SHOWN_FOR_APPROVAL = 5
# As much of a critique as the ledger takes.
MAX_CRITIQUE = 4000
# What of a trial stays in the state; all of it is in the ledger.
KEPT_METRICS = (
    "ic",
    "ic_t",
    "icir",
    "rank_ic",
    "rank_ic_t",
    "rank_icir",
    "evidence",
    "evidence_t",
    "evidence_z",
    "residual_rank_ic",
    "residual_rank_ic_t",
    "turnover",
    "coverage",
    "breakeven_bp",
    "sharpe",
    "n_days",
)
# new: paid from the budget; recalled: known to the ledger; the others by the status they ended with.
COUNTED = ("new", "recalled", "evaluated", "refused", "invalid", "failed", "duplicate")
# Advice after a candidate that was not measured.
REFUSED = {
    "refused": "use shorter windows, or fields that are there on most days",
    "invalid": "use only the fields and operators listed",
    "failed": "answer with the JSON object only",
}
NODES = ("recall", "propose", "validate", "deduplicate", "evaluate", "critique", "store", "decide")
GATE = "approve"

Event = dict[str, Any]


class AlphaResearcher:
    """One research run. Everything it knows of the world comes through `client`.

    Args:
        client: a connected MCP client; in process ``mcp.Client(create_server(workspace))``.
        proposer: where candidates come from.
        run: id of a run that holds its lease; also the key of the checkpoint.
        panel: name of the panel.
        horizon: days ahead.
        budget: new trials to make. Known ones are recalled free; an invalid or failed proposal costs one.
        seed: of all randomness.
        intent: what the user looks for, in words.
        checkpoint: file, or URL of a PostgreSQL database, that holds the run's state.
        thread: key of the state there; the run's id if absent, which is enough for a file of its own.
        kept: directory where what the memory answered is kept, so that a resumed or replayed run reads the same;
            None asks anew.
        as_of: last market date of the run (YYYY-MM-DD): what only later data taught is not recalled; None for all.
        gate: whether a person must approve before the run's candidates may be judged on sealed data.
        approval: "yes" or "no", what the person said of a run that waits.
        on_event: called with small dicts while the run goes on: always `phase` ("start" or the name of a
            node), `run`, `round`, `budget: {new, total}` and `spent`; "start" has the proposer's `notice`, a
            phase that is about one candidate has `candidate`, "recall" has `memory` and `lessons`.
        patience: rounds in a row that bring only repeats, after which the run ends.
    """

    def __init__(
        self,
        client: mcp.Client,
        proposer: Proposer,
        *,
        run: str,
        panel: str,
        horizon: int,
        budget: int,
        seed: int,
        intent: str = "",
        checkpoint: Path | str,
        thread: str | None = None,
        kept: Path | None = None,
        as_of: str | None = None,
        gate: bool = False,
        approval: str | None = None,
        on_event: Callable[[Event], None] | None = None,
        patience: int = PATIENCE,
    ) -> None:
        if budget < 1 or patience < 1:
            raise SpecInvalid(f"budget and patience must be at least 1, got {budget} and {patience}")
        if approval not in (None, "yes", "no"):
            raise SpecInvalid(f"a run is approved by yes or no, got {approval!r}")
        self._tools = Tools(client)
        self._proposer = proposer
        self._run = run
        self._config: dict[str, Any] = {
            "panel": panel,
            "horizon": horizon,
            "budget": budget,
            "seed": seed,
            "intent": intent,
            "proposer": proposer.name,
            "patience": patience,
        }
        self._checkpoint = checkpoint
        self._thread = thread or run
        self._kept = kept
        self._as_of = as_of
        self._gate = gate
        self._approval = approval
        self._on_event = on_event
        self._control = RunControl()
        self._saver: BaseCheckpointSaver[str] | None = None

    def stop(self) -> None:
        """Ask the run to stop after the node that is at work. Safe from any thread or signal handler."""
        self._control.request_drain("asked to stop")

    async def run(self) -> dict[str, Any]:
        """Start the run, or go on where its checkpoint is, until it ends.

        Returns:
            `run`, `outcome` ("complete": budget spent; "exhausted": nothing new is left; "stopped":
            asked to; "limit": calls, tokens, money or seconds are spent; "waiting": for a person's approval;
            "declined": it was refused), `message`, `rounds`, `counts` (see `COUNTED`), `spent`,
            `candidates` (see `state.Candidate`). A stopped, limited or waiting run goes on when called again.

        Raises:
            ProviderError, StoreError: the surroundings failed; the run can be resumed. A damaged checkpoint
                is no such failure: it is set aside, and the ledger knows what was evaluated.
            SpecInvalid: the checkpoint belongs to a run with another configuration.
        """
        await self._tools.check()
        await self._proposer.start()
        try:
            aside = await set_aside_damaged(self._checkpoint, self._read)
            async with open_checkpoint(self._checkpoint) as saver:
                return await self._run_on(saver, aside)
        finally:
            await self._proposer.close()

    @property
    def _where(self) -> RunnableConfig:
        return {"configurable": {"thread_id": self._thread}, "recursion_limit": 1_000_000}

    async def _read(self, saver: BaseCheckpointSaver[str]) -> None:
        """See that the state can be read, and has the parts it should have."""
        state = (await self._graph(saver).aget_state(self._where)).values
        if state and any(type(state.get(name)) is not type(value) for name, value in self._initial().items()):
            raise DamagedCheckpoint(f"the checkpoint must hold {', '.join(self._initial())}")

    async def _run_on(self, saver: BaseCheckpointSaver[str], aside: Path | None) -> dict[str, Any]:
        self._saver = saver
        graph, where = self._graph(saver), self._where
        before = await graph.aget_state(where)
        self._check_same(before.values)
        known: RunState = before.values or self._initial()  # type: ignore[assignment]
        notice = self._proposer.notice
        if aside is not None:
            notice += f"; its checkpoint was damaged and is now {aside.name}, the run begins again from the ledger"
        self._tell("start", known, notice=notice, resumed=bool(before.values))
        outcome, message = "", ""
        if self._is_open(before.values) and not (before.interrupts and self._approval is None):
            given: Any = None if before.values else known
            try:
                await graph.ainvoke(
                    Command(resume=self._approval) if before.interrupts else given,
                    where,
                    durability="sync",
                    control=self._control,
                )
            except GraphDrained:
                outcome, message = "stopped", "stopped as asked; resume goes on from here"
                self._control = RunControl()
            except BudgetExceeded as limit:
                outcome, message = "limit", f"{limit}; resume with a higher limit goes on from here"
        after = await graph.aget_state(where)
        state = after.values
        if after.interrupts and not outcome:
            outcome, message = "waiting", "it waits for approval: nothing was sent to the selection window yet"
        return {
            "run": self._run,
            "outcome": outcome or state["outcome"],
            "message": message or state["message"],
            "rounds": state["round"],
            "counts": state["counts"],
            "spent": state["spent"],
            "candidates": state["candidates"],
        }

    def _is_open(self, state: Mapping[str, Any]) -> bool:
        """Whether a node has still to run; `next` of a snapshot leaves out one whose writes were kept alone."""
        return not state.get("outcome") or (self._gate and not state.get("approval"))

    def _initial(self) -> RunState:
        return {
            "config": self._config,
            "facts": {},
            "round": 0,
            "memory": [],
            "lessons": [],
            "batch": [],
            "candidates": [],
            "seen": [],
            "counts": dict.fromkeys(COUNTED, 0),
            "spent": {},
            "stale": 0,
            "advice": "",
            "outcome": "",
            "message": "",
            "approval": "",
        }

    def _check_same(self, state: Mapping[str, Any]) -> None:
        stored = state.get("config", self._config)
        other = sorted(key for key in self._config if stored.get(key) != self._config[key])
        if other:
            shown = ", ".join(f"{key}={stored.get(key)!r}, not {self._config[key]!r}" for key in other)
            raise SpecInvalid(f"run {self._run} must be resumed as it was started: {shown}")

    def _graph(self, saver: BaseCheckpointSaver[str]) -> CompiledStateGraph[RunState, None, RunState, RunState]:
        graph: StateGraph[RunState] = StateGraph(RunState)
        for name in NODES:
            graph.add_node(name, getattr(self, f"_{name}"))
        graph.add_edge(START, NODES[0])
        for first, second in pairwise(NODES):
            graph.add_edge(first, second)
        ended = GATE if self._gate else END
        graph.add_conditional_edges(
            NODES[-1], lambda state: ended if state["outcome"] else NODES[0], {ended: ended, NODES[0]: NODES[0]}
        )
        if self._gate:
            graph.add_node(GATE, self._approve)
            graph.add_edge(GATE, END)
        return graph.compile(checkpointer=saver)

    # The nodes. Each returns what it changes; none changes what it was handed.

    async def _recall(self, state: RunState) -> RunState:
        """Ask what the panel offers (once) and what the memory knows."""
        await self._tools.check()
        if self._saver is not None:
            await forget_old(self._saver, self._thread)
        facts = state["facts"] or await self._panel_facts()
        known = self._recalled(state["round"])
        hits = known.get("memory") or []
        lessons = known.get("lessons") or state["lessons"]
        if not known:
            if self._proposer.uses_memory:
                text = " ".join(filter(None, [self._config["intent"], state["advice"]])) or "alpha factor"
                hits = [_hit(found) for found in await self._search(text, MEMORY_HITS)]
            if state["round"] == 0:  # later the memory holds this run's own trials too
                lessons = await self._lessons(facts)
            self._keep_recalled(state["round"], {"memory": hits, "lessons": lessons})
        self._tell("recall", state, memory=len(hits), lessons=len(lessons))
        return {"facts": facts, "memory": hits, "lessons": lessons}

    async def _lessons(self, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What earlier runs taught on this panel: on what is looked for, and on its data by what was judged."""
        about = " ".join(facts["fields"])
        questions: list[tuple[str, str | None]] = [(about, status) for status in LESSON_STATUSES]
        if self._config["intent"]:
            questions.insert(0, (self._config["intent"], None))
        found: list[Mapping[str, Any]] = []
        for text, status in questions:
            found += await self._search(text, LESSON_HITS, panel=self._config["panel"], verdict=status)
        return lessons_of(found)

    async def _search(self, text: str, k: int, **only: str | None) -> list[Mapping[str, Any]]:
        asked = {"text": text[:500], "k": k, "as_of": self._as_of, **only}
        answer = await self._tools.call("data_alphas_search", asked)
        results: list[Mapping[str, Any]] = answer.value.get("results", [])[:k]
        return results

    def _recalled(self, number: int) -> dict[str, Any]:
        """What the memory answered in that round; empty where it is to be asked."""
        if self._kept is None:
            return {}
        try:
            known = json.loads((self._kept / f"{number:05d}.json").read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return known if isinstance(known, dict) else {}

    def _keep_recalled(self, number: int, found: Mapping[str, list[dict[str, Any]]]) -> None:
        # The first is kept though it be empty: a run that begins again must not learn from itself.
        if self._kept is not None and (self._proposer.uses_memory or number == 0):
            text = json.dumps(found, ensure_ascii=True, indent=1, sort_keys=True)
            atomic_write(self._kept / f"{number:05d}.json", text.encode())

    async def _propose(self, state: RunState) -> RunState:
        """Ask the proposer for the next batch."""
        left = self._config["budget"] - state["counts"]["new"]
        request = ProposalRequest(
            seed=self._config["seed"],
            round=state["round"],
            count=max(1, min(self._proposer.batch, left)),
            fields=tuple(state["facts"]["fields"]),
            groups=tuple(state["facts"]["groups"]),
            rows=state["facts"]["rows"],
            horizon=self._config["horizon"],
            intent=self._config["intent"],
            history=tuple(state["candidates"]),
            memory=tuple(state["memory"]),
            lessons=tuple(state["lessons"]),
            advice=state["advice"],
            spent=state["spent"],
        )
        proposals = (await self._proposer.propose(request))[: request.count]
        spent = dict(state["spent"])
        batch: list[Candidate] = []
        for proposal in proposals:
            for name, amount in proposal.spent.items():
                spent[name] = spent.get(name, 0) + amount
            candidate: Candidate = {
                "round": state["round"],
                "text": proposal.expression.encode("utf-8", "replace").decode(),
                "rationale": proposal.rationale,
                "source": proposal.source or self._proposer.name,
                "parents": list(dict.fromkeys(filter(None, [*proposal.parents, proposal.refines]))),
                "status": "failed" if proposal.failure else "proposed",
            }
            candidate |= _said(proposal)
            if proposal.failure:
                candidate["error"] = proposal.failure
            batch.append(candidate)
        self._tell("propose", state, proposals=len(batch), spent=spent)
        return {"batch": batch, "spent": spent}

    async def _validate(self, state: RunState) -> RunState:
        """Let the server parse and check each proposal; this counts nothing."""
        batch = []
        for candidate in state["batch"]:
            if candidate["status"] != "proposed":
                batch.append(candidate)
                continue
            answer = await self._tools.call(
                "data_alphas_validate",
                {
                    "expression": candidate["text"],
                    "panel": self._config["panel"],
                    "horizon": self._config["horizon"],
                    "novelty": self._proposer.uses_memory,
                },
            )
            checked = candidate.copy()
            if answer.refused or answer.value.get("valid") is False:
                checked["status"] = "invalid"
                checked["error"] = answer.message or str(answer.value.get("message", ""))
                checked["digest"] = _digest(candidate["text"])
            else:
                checked["status"] = "valid"
                checked["digest"] = str(answer.value["digest"])
                checked["expression"] = str(answer.value["expression"])
                if self._reads_advice:
                    checked |= _told(answer.value)
            batch.append(checked)
        return {"batch": batch}

    async def _deduplicate(self, state: RunState) -> RunState:
        """Drop what this run has had already. What other runs had is recalled free by `evaluate`."""
        seen = set(state["seen"])
        batch = []
        for candidate in state["batch"]:
            digest = candidate.get("digest")
            if digest in seen:
                batch.append(candidate | {"status": "duplicate"})
                continue
            twin = _same_behaviour(candidate)
            if twin:
                why = f"it behaves like stored trial {twin[:12]}: change the idea, not its form"
                batch.append(candidate | {"status": "duplicate", "error": why, "advice": why})
                continue
            if digest:
                seen.add(digest)
            batch.append(candidate)
        self._tell("deduplicate", state, kept=sum(c["status"] in {"valid", "invalid"} for c in batch))
        return {"batch": batch, "seen": sorted(seen)}

    async def _evaluate(self, state: RunState) -> RunState:
        """Have each candidate evaluated. An invalid one is sent too: the ledger counts it as a trial."""
        batch = []
        new = state["counts"]["new"]
        for candidate in state["batch"]:
            if candidate["status"] in {"valid", "invalid"}:
                candidate = await self._evaluated(candidate)
            new += _pays(candidate)
            self._tell("evaluate", state, candidate=candidate, budget={"new": new, "total": self._config["budget"]})
            batch.append(candidate)
        return {"batch": batch}

    async def _evaluated(self, candidate: Candidate) -> Candidate:
        answer = await self._tools.call("data_alphas_evaluate", self._trial_arguments(candidate))
        if answer.refused:
            return await self._refused(candidate, answer)
        trial = answer.value
        # After a crash the trial is known, but it was this run that paid for it.
        first = trial.get("first_run") == self._run
        kept = {name: trial.get(name) for name in KEPT_METRICS}
        kept |= {name: trial[name] for name in ("decay", "missing") if trial.get(name)}
        measured = candidate.copy()
        measured["status"] = str(trial["status"])
        measured["id"] = str(trial["id"])
        measured["expression"] = str(trial["expression"])
        measured["new"] = first or not trial["known"]
        measured["metrics"] = kept
        return measured

    async def _refused(self, candidate: Candidate, answer: Answer) -> Candidate:
        """A candidate that was counted but not measured; the ledger knows whether this run was the first."""
        refused = candidate.copy()
        refused["status"] = "refused" if answer.reason is Reason.EVIDENCE_INVALID else "invalid"
        refused["error"] = answer.message
        found = await self._tools.call("data_alphas_get", {"id": candidate["digest"]}, expected=Reason.UNKNOWN_NAME)
        refused["new"] = found.value.get("first_run") in {self._run, None}
        if "id" in found.value:
            refused["id"] = str(found.value["id"])
        return refused

    async def _critique(self, state: RunState) -> RunState:
        """Say in plain words what is wrong with each candidate: by rules, then by a reviewer where there is one."""
        earlier: list[Mapping[str, Any]] = list(state["candidates"])
        batch = []
        spent = dict(state["spent"])
        for candidate in state["batch"]:
            judged = candidate.copy()
            if candidate["status"] == "evaluated" and self._reads_advice:
                critique = criticise(
                    candidate["metrics"], earlier, candidate=candidate, rows=state["facts"].get("rows")
                )
                critique = await self._reviewed(candidate, critique, spent)
                judged["critique"] = f"{critique.text}. Advice: {critique.advice}"[:MAX_CRITIQUE]
                judged["advice"] = critique.advice
                earlier.append(candidate)
            elif candidate["status"] == "evaluated":
                critique = criticise(candidate["metrics"], earlier)
                judged["critique"], judged["advice"] = critique.text, critique.advice
                earlier.append(candidate)
            elif candidate["status"] in REFUSED:
                judged["critique"] = f"refused: {candidate.get('error', '')[:300]}"
                judged["advice"] = REFUSED[candidate["status"]]
            self._tell("critique", state, candidate=judged, spent=spent)
            batch.append(judged)
        return {"batch": batch, "spent": spent}

    @property
    def _reads_advice(self) -> bool:
        # Who does not is judged as ever: a search by seed is the same search wherever it is made.
        return self._proposer.uses_memory

    async def _reviewed(self, candidate: Candidate, critique: Critique, spent: dict[str, float]) -> Critique:
        """The critique with what the proposer's reviewer adds to it; its cost is added to `spent`."""
        reviewer = getattr(self._proposer, "reviewer", None)
        if reviewer is None:
            return critique
        review = await reviewer.review(candidate, critique, dict(spent))
        for name, amount in review.spent.items():
            spent[name] = spent.get(name, 0) + amount
        text = f"{critique.text}; reviewer: {review.text}" if review.text else critique.text
        return Critique(text, "; ".join(dict.fromkeys(filter(None, [critique.advice, review.advice]))))

    async def _store(self, state: RunState) -> RunState:
        """Pass the critique on: the trial is found by its content key and nothing is computed again."""
        for candidate in state["batch"]:
            if candidate["status"] in {"evaluated", "refused", "invalid"}:
                await self._tools.call("data_alphas_evaluate", self._trial_arguments(candidate))
        self._tell("store", state)
        return {}

    async def _decide(self, state: RunState) -> RunState:
        """Count, keep what the next round needs, and end the run or begin the next round."""
        counts = dict(state["counts"])
        for candidate in state["batch"]:
            counts["new"] += _pays(candidate)
            counts["recalled"] += candidate.get("new") is False
            if candidate["status"] in counts:
                counts[candidate["status"]] += 1
        moved = any("new" in candidate or candidate["status"] == "failed" for candidate in state["batch"])
        stale = 0 if moved else state["stale"] + 1
        outcome, message = self._ending(state, counts, stale)
        kept = [c for c in state["batch"] if c["status"] != "duplicate"]
        advice = next((c["advice"] for c in reversed(state["batch"]) if c.get("advice")), state["advice"])
        update: RunState = {
            "round": state["round"] + 1,
            "batch": [],
            "candidates": [*state["candidates"], *kept],
            "counts": counts,
            "stale": stale,
            "advice": advice,
            "outcome": outcome,
            "message": message,
        }
        self._tell("decide", state, counts=counts, outcome=outcome, budget=self._budget(counts))
        return update

    async def _approve(self, state: RunState) -> RunState:
        """Let a person say whether the candidates may be judged on sealed data, which can't be undone."""
        answer = interrupt({"run": self._run, "new": state["counts"]["new"], "strongest": _strongest(state)})
        approval = "yes" if answer == "yes" else "no"
        self._tell(GATE, state, approval=approval)
        if approval == "yes":
            return {"approval": approval}
        declined = "a person declined: nothing was sent to the selection window"
        return {"approval": approval, "outcome": "declined", "message": declined}

    def _ending(self, state: RunState, counts: Mapping[str, int], stale: int) -> tuple[str, str]:
        budget, patience = self._config["budget"], self._config["patience"]
        if counts["new"] >= budget:
            return "complete", f"the budget of {budget} new trials is spent"
        if not state["batch"]:
            return "exhausted", "the proposer has nothing left to try; a wider panel or another proposer may"
        if stale >= patience:
            return "exhausted", f"{patience} rounds in a row brought only repeats; another seed goes elsewhere"
        if counts["recalled"] >= RECALLED_PER_TRIAL * max(budget, SMALLEST_BUDGET):
            known = counts["recalled"]
            return "exhausted", f"{known} candidates were known from earlier runs; another seed goes elsewhere"
        return "", ""

    async def _panel_facts(self) -> dict[str, Any]:
        asked = {"panel": self._config["panel"], "section": "panel"}
        answer = await self._tools.call("data_catalog_describe", asked)
        if answer.refused or not answer.value.get("panels"):
            raise ProviderError(f"panel {self._config['panel']!r} can't be described: {answer.message}")
        panel = answer.value["panels"][0]
        # The language makes returns from close where a panel has none.
        fields = {*panel["fields"], *(["returns"] if "close" in panel["fields"] else [])}
        return {"fields": sorted(fields), "groups": sorted(panel["groups"]), "rows": int(panel["rows"] or 0)}

    def _trial_arguments(self, candidate: Candidate) -> dict[str, Any]:
        return {
            "expression": candidate["text"],
            "panel": self._config["panel"],
            "horizon": self._config["horizon"],
            "run": self._run,
            "rationale": candidate["rationale"],
            "parents": candidate["parents"],
            "critique": candidate.get("critique", ""),
            "source": candidate["source"],
        }

    def _budget(self, counts: Mapping[str, int]) -> dict[str, int]:
        return {"new": counts["new"], "total": self._config["budget"]}

    def _tell(self, phase: str, state: RunState, **more: Any) -> None:
        if self._on_event is not None:
            event = {
                "phase": phase,
                "run": self._run,
                "round": state["round"],
                "budget": self._budget(state["counts"]),
                "spent": state["spent"],
            }
            self._on_event(event | more)


def _digest(text: str) -> str:
    """The ledger's key of a text that was refused: canonical where only the panel lacks something."""
    try:
        return parse(text).digest
    except ExpressionError:
        return hashlib.sha256(text.encode()).hexdigest()


def _pays(candidate: Candidate) -> bool:
    """Whether it costs one from the budget: a new trial, valid or not, or a failure to propose."""
    return candidate.get("new", False) or candidate["status"] == "failed"


def _said(proposal: Proposal) -> Candidate:
    """What a proposal says beside its formula, where it says it."""
    said = {name: getattr(proposal, name) for name in ("hypothesis", "sign", "horizon", "refines", "program")}
    return cast("Candidate", {name: value for name, value in said.items() if value})


def _told(answer: Mapping[str, Any]) -> Candidate:
    """What validation says beside whether the formula is valid: doubtful units, and what is most like it."""
    told = {"warnings": [str(one)[:300] for one in answer.get("warnings") or ()], "nearest": answer.get("nearest")}
    return cast("Candidate", {name: value for name, value in told.items() if value})


def _same_behaviour(candidate: Mapping[str, Any]) -> str:
    """Digest of the stored trial that the candidate repeats in other words; empty where there is none."""
    nearest = candidate.get("nearest") or {}
    same = nearest.get("of") == "behaviour" and (nearest.get("likeness") or 0.0) >= SAME_BEHAVIOUR
    # The same formula is no twin: it is recalled free, with all that is known of it.
    return str(nearest.get("digest", "")) if same and nearest.get("digest") != candidate.get("digest") else ""


def _strongest(state: RunState) -> list[dict[str, Any]]:
    measured = [(strength(c.get("metrics")), c) for c in state["candidates"] if c["status"] == "evaluated"]
    ranked = sorted(((abs(z), c) for z, c in measured if z is not None), key=lambda one: (-one[0], one[1]["digest"]))
    return [{"expression": c["expression"], "z": round(z, 4)} for z, c in ranked[:SHOWN_FOR_APPROVAL]]


def _hit(found: Mapping[str, Any]) -> dict[str, Any]:
    # Text from the corpus is data of unknown origin: capped here, quoted where it is shown.
    return {key: str(found.get(key, ""))[:300] for key in ("expression", "summary", "verdict")}
