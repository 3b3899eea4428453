"""BERT and GPT-2 of transformers, and the LSTM of torch, each with the inputs and outputs of its spec."""

from __future__ import annotations

from torch import Tensor, nn
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

__all__ = ["GPT2", "LSTM", "Bert"]


class Bert(BertModel):
    """With the pooler, as the spec."""

    def __init__(self) -> None:
        super().__init__(BertConfig(attn_implementation="sdpa"))

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        return super().forward(input_ids, attention_mask, token_type_ids, return_dict=False)


class GPT2(GPT2LMHeadModel):
    """With the head, whose weights are those of the embedding, and its logits at every position, as the spec."""

    def __init__(self) -> None:
        super().__init__(GPT2Config(attn_implementation="sdpa", use_cache=False))

    def forward(self, input_ids: Tensor) -> Tensor:
        return super().forward(input_ids, use_cache=False, return_dict=False)[0]


class LSTM(nn.Module):
    def __init__(self, features: int = 512, hidden: int = 512, layers: int = 2) -> None:
        super().__init__()
        self.rnn = nn.LSTM(features, hidden, layers, batch_first=True)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        output, (h_n, c_n) = self.rnn(x)
        return output, h_n, c_n
