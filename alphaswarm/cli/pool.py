"""`alphaswarm pool`: the confirmed factors together, and the one look into the vault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from alphaswarm.cli.output import (
    JsonOption,
    PanelOption,
    WorkspaceOption,
    default_workspace,
    number,
    open_workspace,
    print_json,
    print_table,
    progress_console,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alphaswarm.research.pool import PoolState

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)

HorizonOption = Annotated[int, typer.Option("--horizon", min=1, max=252, help="Days that the members' label spans.")]
FillOption = Annotated[str, typer.Option("--fill", help="close_t1 or open_t1: how the members are filled.")]


@app.command("list")
def list_members(
    panel: PanelOption = None,
    horizon: HorizonOption = 5,
    fill: FillOption = "close_t1",
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """The members of a pool, what each adds, and what the vault showed if it was released."""
    with open_workspace(workspace) as project, progress_console().status("measuring"):
        state = project.pool(panel or project.catalog.default(), horizon, fill)
        others = [label for label in project.pool_labels(state.panel) if label != (horizon, fill)]
    if as_json:
        print_json(state.model_dump(mode="json") | {"others": [{"horizon": h, "fill": f} for h, f in others]})
        return
    _print_state(state)
    for h, f in others:
        print(f"there is another pool: --horizon {h} --fill {f}")


@app.command()
def add(
    trial: Annotated[str, typer.Argument(help="Id or digest, or the start of one, of a confirmed trial.")],
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Take a confirmed trial into the pool of its panel, horizon and fill."""
    with open_workspace(workspace) as project, progress_console().status("measuring"):
        state = project.promote(trial)
    if as_json:
        print_json(state.model_dump(mode="json"))
    else:
        _print_state(state)


@app.command()
def release(
    panel: PanelOption = None,
    horizon: HorizonOption = 5,
    fill: FillOption = "close_t1",
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Judge the combination, then read the vault: once for what the pool holds now, logged, never again."""
    with open_workspace(workspace) as project, progress_console().status("reading the vault"):
        state = project.release_pool(panel or project.catalog.default(), horizon, fill)
    if as_json:
        print_json(state.model_dump(mode="json"))
    else:
        _print_state(state)


def _print_state(state: PoolState) -> None:
    if not state.members:
        print(f"the pool of {state.lineage} at horizon {state.horizon}, {state.fill} is empty: pool add TRIAL")
        return
    print(f"pool of {state.lineage}, horizon {state.horizon}, {state.fill}; figures of the search window\n")
    columns = ("id", "expression", "sign", "evidence z", "net SR", "tradable", "share", "adds")
    rows = [
        (
            member.trial[:10],
            member.expression,
            f"{member.sign:+d}",
            number(member.evidence_z),
            number(member.net_sharpe),
            "yes" if member.tradable else "no",
            number(member.weight),
            number(member.marginal, 3),
        )
        for member in state.members
    ]
    print_table(columns, rows, right=("sign", "evidence z", "net SR", "share", "adds"))
    if state.combination is not None:
        print(f"\ncombination (ridge): evidence z {number(state.combination['evidence_z'])}")
    if state.released is None:
        print("\nselection and vault are sealed: pool release reads the vault once for this pool")
    else:
        _print_released(state, state.released)


def _print_released(state: PoolState, released: Mapping[str, Any]) -> None:
    print(f"\nreleased on {released['read'][:10]}; these figures are shown for ever and never read again\n")
    columns = ("window", "what", "evidence z", "RankIC", "t", "SR", "net SR 5bp", "break-even bp")
    rows = []
    for name in ("selection", "vault"):
        found = released[name]
        shown = [(member.expression, one) for member, one in zip(state.members, found["members"], strict=True)]
        if found["combination"] is not None:
            shown.append(("combination", found["combination"]))
        for what, one in shown:
            figures = (
                number(one["evidence_z"]),
                number(one["rank_ic"], 4),
                number(one["rank_ic_t"]),
                number(one["sharpe"]),
                number(one["net_sharpe"]),
                number(one["breakeven_bp"], 1),
            )
            rows.append((name, what, *figures))
    print_table(columns, rows, right=columns[2:], flexible="what")
    sent = released["combination"]
    if sent is not None:
        answer = "confirmed" if sent["confirmed"] else "not confirmed"
        print(f"\ncombination {answer} on selection as finalist K = {sent['k']}")
