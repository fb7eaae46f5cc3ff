#!/usr/bin/env python3
"""The rows of rows.tsl in PyTorch by NCCL: all_reduce of bf16, and DDP of GPT-2 small with torch.compile.

    torchrun --nproc-per-node 2 torch_peer.py sums training one
"""

import os
import pathlib
import sys
import time

os.environ["NCCL_NVLS_ENABLE"] = "0"  # a program that uses multicast can put the GPUs of a shared host out of service

import torch
import torch.distributed as dist

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "models"))
import torch_models as models
import torch.nn.functional as F

SEQUENCES = 7


def seconds_of(call, n):
    """Returns the seconds of a call, n at once: the median of several such sequences."""
    times = []
    for _ in range(SEQUENCES + 1):
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(n):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / n)
    return sorted(times[1:])[SEQUENCES // 2]


def sums(rank):
    for name, size in (("4 KB", 4096), ("1 MB", 1_000_000), ("25 MB", 25_000_000), ("256 MB", 256_000_000)):
        x = torch.ones(size // 2, dtype=torch.bfloat16, device="cuda")
        seconds = seconds_of(lambda: dist.all_reduce(x), 10 if size > 10_000_000 else 100)
        if rank == 0:
            print(f"all_reduce {name}: {seconds}", flush=True)


def training(rank, ranks):
    torch._dynamo.reset()
    torch.manual_seed(1)
    model = models.Gpt2().to("cuda", torch.bfloat16).train()
    if ranks > 1:
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[torch.cuda.current_device()],
                                                          gradient_as_bucket_view=True)
    x, y = (torch.randint(0, 50257, (8, 1024), device="cuda") for _ in range(2))
    compiled = torch.compile(model)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(compiled(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()

    torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    step()
    torch.cuda.synchronize()
    first = time.perf_counter() - begin
    seconds = seconds_of(step, 10)
    if rank == 0:
        print(f"gpt2 of {ranks}: {seconds} first {first} memory {torch.cuda.max_memory_allocated()}", flush=True)


def main():
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    torch.backends.cuda.matmul.allow_tf32 = True
    for row in sys.argv[1:]:
        if row == "sums":
            sums(rank)
        else:
            training(rank, 1 if row == "one" else dist.get_world_size())
    dist.destroy_process_group()


main()
