"""The GPT of examples/gpt in PyTorch: the peer that run_gpt measures it against.

The same architecture, first weights of the same size, batch, AdamW, schedule and clipping; data
parallel with DistributedDataParallel over gloo, one process a rank. Prints tokens per second as it goes and one
JSON line at the end.
"""

import argparse
import json
import math
import os
import socket
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.attention_out = nn.Linear(width, width)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp_in = nn.Linear(width, 4 * width)
        self.mlp_out = nn.Linear(4 * width, width)

    def forward(self, x):
        windows, context, width = x.shape
        q, k, v = self.qkv(self.attention_norm(x)).split(width, dim=2)
        q, k, v = (t.view(windows, context, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attention_out(y.transpose(1, 2).reshape(windows, context, width))
        return x + self.mlp_out(F.gelu(self.mlp_in(self.mlp_norm(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, context, vocabulary=256):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for name, parameter in self.named_parameters():
            if name in ("token.weight", "position.weight"):
                nn.init.normal_(parameter, std=0.02)
            elif parameter.dim() == 2:
                residual = name.endswith(("attention_out.weight", "mlp_out.weight"))
                scale = 0.5 / math.sqrt(2 * layers) if residual else 0.5
                nn.init.normal_(parameter, std=scale / math.sqrt(parameter.shape[1]))
            elif name.endswith(".bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens, targets):
        x = self.token(tokens) + self.position.weight
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.token.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def rate(step, args):
    if step < args.warmup:
        return args.lr * (step + 1) / args.warmup
    progress = (step - args.warmup) / max(args.steps - args.warmup, 1)
    return args.lr * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min(progress, 1))))


def make_optimizer(model, args):
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.99), fused=True)


def train(rank, port, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    dist.init_process_group("gloo", rank=rank, world_size=args.ranks)
    with open(args.data, "rb") as file:
        text = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)
    text = text[: len(text) - len(text) // 20]
    model = nn.parallel.DistributedDataParallel(Gpt(args.layers, args.width, args.heads, args.context))
    optimizer = make_optimizer(model, args)
    generator = torch.Generator().manual_seed(args.seed)
    windows = args.batch // args.ranks
    rates, loss_sum, since = [], 0.0, time.perf_counter()
    for step in range(args.steps):
        starts = torch.randint(len(text) - args.context, (args.batch,), generator=generator)
        starts = starts[rank * windows : (rank + 1) * windows]
        batch = torch.stack([text[s : s + args.context + 1] for s in starts]).long()
        loss = model(batch[:, :-1], batch[:, 1:])
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rate(step, args)
        optimizer.step()
        loss_sum += loss.item()
        if (step + 1) % args.log_every == 0:
            now = time.perf_counter()
            rates.append(args.log_every * args.batch * args.context / (now - since))
            if rank == 0:
                print(f"step {step + 1}/{args.steps}  train {loss_sum / args.log_every:.4f}  "
                      f"{rates[-1]:.0f} tokens/s", flush=True)
            loss_sum, since = 0.0, time.perf_counter()
    if rank == 0:
        print(json.dumps({"tokens_per_second": statistics.median(rates[1:] or rates)}), flush=True)
    dist.destroy_process_group()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--data", required=True, help="text file")
    for name, default in (("layers", 4), ("width", 128), ("heads", 4), ("context", 128), ("batch", 16),
                          ("steps", 100), ("warmup", 100), ("log-every", 10), ("seed", 1), ("ranks", 2),
                          ("threads", 1)):
        parser.add_argument("--" + name, type=int, default=default, help=" ")
    parser.add_argument("--lr", type=float, default=6e-3, help=" ")
    args = parser.parse_args()
    if args.batch % args.ranks:
        sys.exit(f"--batch {args.batch} cannot be shared by {args.ranks} ranks")
    torch.multiprocessing.spawn(train, args=(free_port(), args), nprocs=args.ranks)


if __name__ == "__main__":
    main()
