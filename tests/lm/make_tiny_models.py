"""Makes a tiny random model of each family with `transformers` and records its logits (of BERT the last hidden states).

    python make_tiny_models.py FOLDER      (needs torch, transformers)

SDAR, which transformers does not have, is a Qwen3 model under a block-causal mask.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

SIZES = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             vocab_size=32, max_position_embeddings=64)
IDS = [[3, 14, 15, 9, 2, 6, 5, 30, 0, 7, 11, 28], [1, 1, 2, 3, 5, 8, 13, 21, 31, 4, 0, 9]]
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16, "rope_theta": 100.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 100.0}
LINEAR = {"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0}


def block_causal(tokens, block):
    place = torch.arange(tokens) // block
    return torch.where(place[None, :] <= place[:, None], 0.0, float("-inf"))[None, None]


def main():
    folder = pathlib.Path(sys.argv[1])
    models = {
        "llama": LlamaForCausalLM(LlamaConfig(**SIZES, attention_bias=True, mlp_bias=True, tie_word_embeddings=False)),
        "llama3": LlamaForCausalLM(LlamaConfig(**SIZES, rope_parameters=LLAMA3, tie_word_embeddings=True)),
        "linear": LlamaForCausalLM(LlamaConfig(**SIZES, rope_parameters=LINEAR, tie_word_embeddings=True, head_dim=8)),
        "qwen2": Qwen2ForCausalLM(Qwen2Config(**SIZES, rope_parameters=YARN)),
        "qwen3": Qwen3ForCausalLM(Qwen3Config(**SIZES, head_dim=8)),
        "sdar": Qwen3ForCausalLM(Qwen3Config(**SIZES, head_dim=8)),
        "bert": BertModel(BertConfig(**{k: v for k, v in SIZES.items() if k != "num_key_value_heads"}), add_pooling_layer=False),
    }
    for i, (name, model) in enumerate(models.items()):
        torch.manual_seed(i)
        model = model.eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(0, 0.3) if parameter.dim() > 1 else parameter.normal_(0.8, 0.3)
            ids = torch.tensor(IDS)
            if name == "sdar":
                answer = model(ids, attention_mask=block_causal(ids.shape[1], 4)).logits
            elif name == "bert":
                answer = model(ids).last_hidden_state
            else:
                answer = model(ids).logits
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        config = json.loads(model.config.to_json_string(use_diff=False))
        kept = ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "vocab_size",
                "max_position_embeddings", "head_dim", "rms_norm_eps", "layer_norm_eps", "rope_theta", "rope_parameters", "hidden_act",
                "attention_bias", "mlp_bias", "tie_word_embeddings", "type_vocab_size", "eos_token_id"]
        config = {"model_type": "sdar" if name == "sdar" else model.config.model_type} | {key: config[key] for key in kept if key in config}
        if name == "sdar":
            config |= {"block_size": 4, "mask_token_id": 31}
        (place / "config.json").write_text(json.dumps(config, indent=1) + "\n")
        tensors = {key: value.contiguous() for key, value in model.state_dict().items()
                   if not (key == "lm_head.weight" and config.get("tie_word_embeddings"))}
        save_file(tensors, place / "model.safetensors")
        answer = [[[round(x, 5) for x in token] for token in row] for row in answer.tolist()]
        (place / "answer.json").write_text(json.dumps({"ids": IDS, "answer": answer}) + "\n")
        print(name, sum(tensor.numel() for tensor in tensors.values()))


main()
