"""Encoders and decoders of text of transformers, and the LSTM of torch, with the inputs and outputs of their specs."""

from __future__ import annotations

from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    GPT2Config,
    GPT2LMHeadModel,
    MambaConfig,
    MambaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    RobertaConfig,
    RobertaModel,
)

__all__ = ["GPT2", "LSTM", "Bert", "DistilBert", "Mamba", "Qwen2", "Roberta"]


class Bert(BertModel):
    """With the pooler, as the spec."""

    def __init__(self) -> None:
        super().__init__(BertConfig())

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        return super().forward(input_ids, attention_mask, token_type_ids, return_dict=False)


class Roberta(RobertaModel):
    """With the pooler, as the spec; positions begin behind the padding's index."""

    def __init__(self) -> None:
        sizes = {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1}
        super().__init__(RobertaConfig(**sizes, layer_norm_eps=1e-5, pad_token_id=1))

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        return super().forward(input_ids, attention_mask, token_type_ids, return_dict=False)


class DistilBert(DistilBertModel):
    def __init__(self) -> None:
        super().__init__(DistilBertConfig())

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return super().forward(input_ids, attention_mask, return_dict=False)[0]


class GPT2(GPT2LMHeadModel):
    """With the head, whose weights are those of the embedding, and its logits at every position, as the spec."""

    def __init__(self) -> None:
        super().__init__(GPT2Config(use_cache=False))

    def forward(self, input_ids: Tensor) -> Tensor:
        return super().forward(input_ids, use_cache=False, return_dict=False)[0]


class Qwen2(Qwen2ForCausalLM):
    """With the first eight layers."""

    def __init__(self) -> None:
        sizes = {"hidden_size": 896, "num_attention_heads": 14, "num_key_value_heads": 2, "intermediate_size": 4864}
        positions = {"rope_type": "default", "rope_theta": 1e6}
        super().__init__(Qwen2Config(**sizes, num_hidden_layers=8, rope_parameters=positions, tie_word_embeddings=True))

    def forward(self, input_ids: Tensor) -> Tensor:
        return super().forward(input_ids, use_cache=False, return_dict=False)[0]


class Mamba(MambaForCausalLM):
    """By the recurrence over positions, which is what the library runs on a CPU."""

    #: Its loop is unrolled, which takes torch.export a quarter of an hour, and tracing less than a minute.
    traced = True

    def __init__(self) -> None:
        super().__init__(MambaConfig(num_hidden_layers=24))

    def forward(self, input_ids: Tensor) -> Tensor:
        return super().forward(input_ids, use_cache=False, return_dict=False)[0]


class LSTM(nn.Module):
    def __init__(self, features: int = 512, hidden: int = 512, layers: int = 2) -> None:
        super().__init__()
        self.rnn = nn.LSTM(features, hidden, layers, batch_first=True)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        output, (h_n, c_n) = self.rnn(x)
        return output, h_n, c_n
