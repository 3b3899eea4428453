"""Programs whose random numbers do not depend on the seed of a run."""

from __future__ import annotations

from dataclasses import replace

from netcalc.ir.program import Body, CallNode, OpNode, Program


def with_draws(program: Program, seed: int) -> Program:
    """Return a program whose operations all draw by this seed, so that equal operations draw equal numbers."""
    bodies: dict[Body, Body] = {}

    def seeded(body: Body) -> Body:
        if body not in bodies:
            bodies[body] = replace(body, nodes=tuple(map(node_of, body.nodes)))
        return bodies[body]

    def node_of(node: OpNode | CallNode) -> OpNode | CallNode:
        if isinstance(node, CallNode):
            return replace(node, body=seeded(node.body))
        return replace(node, op=node.op.model_copy(update={"seed": seed})) if node.op.draws else node

    return replace(program, main=seeded(program.main))
