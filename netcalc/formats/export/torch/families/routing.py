"""PyTorch code of the operations of :mod:`netcalc.ops.routing`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.expressions import literal
from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import MODULE, Call, Emitted, rule, unsupported

helper('''
class TopKRouter(nn.Module):
    """Weights and indices of the best experts of each token.

    Args:
        k: experts of a token.
        experts: number of experts; needed for the bias only.
        softmax: score by a softmax, otherwise by sigmoids.
        score_first: score all logits, not the chosen ones only.
        normalize: divide the weights by their sum plus ``eps``.
        scale: factor of the weights.
        groups: groups of experts, of which ``top_groups`` are eligible.
        two_of_group: a group is worth its two best experts, not its best one.
        bias: correct the choice, not the weights, by a bias of each expert.
    """

    def __init__(
        self,
        k: int,
        experts: int,
        softmax: bool = True,
        score_first: bool = True,
        normalize: bool = False,
        eps: float = 0.0,
        scale: float = 1.0,
        groups: int = 1,
        top_groups: int = 1,
        two_of_group: bool = False,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.k = k
        self.softmax = softmax
        self.score_first = score_first
        self.normalize = normalize
        self.eps = eps
        self.scale = scale
        self.groups = groups
        self.top_groups = top_groups
        self.two_of_group = two_of_group
        self.e_score_correction_bias: Tensor | None
        values = torch.zeros(experts) if bias else None
        self.register_buffer("e_score_correction_bias", values)

    def forward(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.score(logits) if self.score_first else logits
        choice = scores
        if self.e_score_correction_bias is not None:
            choice = choice + self.e_score_correction_bias
        if self.groups > 1:
            choice = self.among_groups(choice)
        indices = choice.topk(self.k, dim=-1).indices
        weights = scores.gather(-1, indices)
        if not self.score_first:
            weights = self.score(weights)
        if self.normalize:
            weights = weights / (weights.sum(-1, keepdim=True) + self.eps)
        return weights * self.scale, indices

    def score(self, logits: Tensor) -> Tensor:
        """Return probabilities, or a sigmoid of each logit."""
        return torch.softmax(logits, -1) if self.softmax else torch.sigmoid(logits)

    def among_groups(self, choice: Tensor) -> Tensor:
        """Return the scores with -inf outside the best groups."""
        grouped = choice.unflatten(-1, (self.groups, -1))
        worth = grouped.amax(-1)
        if self.two_of_group:
            worth = grouped.topk(2, dim=-1).values.sum(-1)
        chosen = worth.topk(self.top_groups, dim=-1).indices
        allowed = torch.zeros_like(worth).scatter(-1, chosen, 1.0) > 0
        return grouped.masked_fill(~allowed[..., None], -math.inf).flatten(-2)
''')
helper('''
class Experts(nn.Module):
    """Feed-forward networks of which each token uses some; ``activated`` is the nonlinearity.

    Args:
        experts: number of experts.
        features: features of a token.
        hidden: hidden units of an expert.
        gated: multiply the activated gate with a second projection.
        bias: add biases.
        interleaved: gate and projection alternate in ``gate_up_proj``.
        limit: limit of the projections.
        up_shift: number that is added to the second projection.
        weigh_input: weigh the tokens rather than the results.
        capacity: tokens of a sequence that an expert takes; all of them for None.
        capacity_factor: capacity as a multiple of an even share.
    """

    def __init__(
        self,
        experts: int,
        features: int,
        hidden: int,
        activation: str = "silu",
        gated: bool = True,
        bias: bool = False,
        interleaved: bool = False,
        limit: float | None = None,
        up_shift: float = 0.0,
        weigh_input: bool = False,
        capacity: int | None = None,
        capacity_factor: float | None = None,
    ) -> None:
        super().__init__()
        self.experts = experts
        self.activation = activation
        self.gated = gated
        self.bias = bias
        self.interleaved = interleaved
        self.limit = limit
        self.up_shift = up_shift
        self.weigh_input = weigh_input
        self.capacity = capacity
        self.capacity_factor = capacity_factor
        up = "gate_up_proj" if gated else "up_proj"
        rows = 2 * hidden if gated else hidden
        for name, shape in ((up, (rows, features)), ("down_proj", (features, hidden))):
            weight = torch.randn(experts, *shape) * shape[1] ** -0.5
            self.register_parameter(name, nn.Parameter(weight))
            if bias:
                zeros = nn.Parameter(torch.zeros(experts, shape[0]))
                self.register_parameter(f"{name}_bias", zeros)

    def forward(self, x: Tensor, weights: Tensor, indices: Tensor) -> Tensor:
        k = weights.shape[-1]
        length = x.shape[-2] if x.ndim > 1 else 1
        chosen = indices.reshape(-1, length, k)
        share = weights.reshape(-1, length, k, 1)
        tokens = x.reshape(-1, length, 1, x.shape[-1]).expand(*chosen.shape, -1)
        if self.weigh_input:
            tokens = tokens * share
        result = torch.zeros_like(tokens)
        fits = self.fitting(chosen)
        for number in range(self.experts):
            its = (chosen == number) & fits
            if bool(its.any()):
                result[its] = self.expert(tokens[its], number)
        if not self.weigh_input:
            result = result * share
        return result.sum(2).reshape(x.shape)

    def fitting(self, chosen: Tensor) -> Tensor:
        """Return True for the choices within the capacity; first choices go first."""
        sequences, length, k = chosen.shape
        places = min(self.capacity or length, length)
        if self.capacity_factor is not None:
            share = self.capacity_factor * k * length / self.experts
            places = min(math.ceil(round(share, 9)), length)
        order = chosen.transpose(1, 2).flatten(1)
        arrivals = F.one_hot(order, self.experts).cumsum(1)
        place = arrivals.gather(-1, order[..., None])[..., 0]
        return (place <= places).reshape(sequences, k, length).transpose(1, 2)

    def project(self, x: Tensor, name: str, number: int) -> Tensor:
        """Return the projection of one expert."""
        bias = self.get_parameter(f"{name}_bias")[number] if self.bias else None
        return F.linear(x, self.get_parameter(name)[number], bias)

    def expert(self, x: Tensor, number: int) -> Tensor:
        """Return what one expert makes of tokens."""
        if not self.gated:
            hidden = self.activated(self.project(x, "up_proj", number))
            return self.project(hidden, "down_proj", number)
        both = self.project(x, "gate_up_proj", number)
        if self.interleaved:
            gate, up = both[..., ::2], both[..., 1::2]
        else:
            gate, up = both.chunk(2, dim=-1)
        if self.limit is not None:
            gate, up = gate.clamp(max=self.limit), up.clamp(-self.limit, self.limit)
        hidden = self.activated(gate) * (up + self.up_shift)
        return self.project(hidden, "down_proj", number)

    def activated(self, x: Tensor) -> Tensor:
        """Return the nonlinearity of the hidden units."""
        match self.activation:
            case "silu":
                return F.silu(x)
            case "relu":
                return F.relu(x)
            case "squared_relu":
                return F.relu(x).square()
            case "gelu_tanh":
                return F.gelu(x, approximate="tanh")
            case "quick_gelu":
                return x * torch.sigmoid(1.702 * x)
        return F.gelu(x)
''')


@rule("top_k_router")
def top_k_router(call: Call) -> Emitted | str:
    """Write a helper."""
    op: Any = call.op
    name = call.helper("TopKRouter")
    options = call.arguments(
        softmax=(op.scoring == "softmax", True),
        score_first=(op.order == "score_first", True),
        normalize=(op.normalize, False),
        eps=(op.eps, 0.0),
        scale=(op.scale, 1.0),
        groups=(op.groups, 1),
        top_groups=(op.top_groups, 1),
        two_of_group=(op.group_score != "max", False),
        bias=(op.correction_bias, False),
    )
    experts = call.start(call.type().shape[-1], "experts")
    return call.module(f"{name}({call.start(op.k, 'experts_per_token')}, {experts}{options})")


@rule("experts")
def experts(call: Call) -> Emitted | str:
    """Write a helper."""
    op: Any = call.op
    name = call.helper("Experts")
    activation = op.activation.name
    if activation == "gelu" and op.activation.approximate == "tanh":
        activation = "gelu_tanh"
    if activation not in ("silu", "relu", "squared_relu", "gelu", "gelu_tanh", "quick_gelu"):
        raise unsupported(f"has experts with the activation {activation}")
    options = call.arguments(
        gated=(op.gated, True),
        bias=(op.bias, False),
        interleaved=(op.interleaved, False),
        limit=(op.limit, None),
        up_shift=(op.up_shift, 0.0),
        weigh_input=(op.weights_on == "input", False),
        capacity=(op.capacity, None),
        capacity_factor=(op.capacity_factor, None),
    )
    if activation != "silu":
        options = f", activation={literal(activation)}{options}"
    sizes = (call.start(op.experts, "experts"), call.start(call.type().shape[-1], "features"))
    made = f"{name}({', '.join(sizes)}, {call.start(op.hidden, 'hidden')}{options})"
    return Emitted(f"{MODULE}({call.x}, {call.input(1)}, {call.input(2)})", made)
