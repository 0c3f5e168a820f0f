"""All-reduces of f32 by torch.distributed, a process for each GPU: the rows of
`cargo test --release --test collective timing::timing_of_an_all_reduce -- --ignored --nocapture`.

python3 collectives.py [GPUS]
"""

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def rank(index, count):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29417")
    torch.cuda.set_device(index)
    dist.init_process_group("nccl", rank=index, world_size=count, device_id=torch.device("cuda", index))
    for size in [8, 64, 512, 4096, 32768, 1 << 18, 1 << 21, 1 << 24, 1 << 27, 1 << 30]:
        x = torch.zeros(size // 4, device="cuda")
        calls = 2000 if size < 1 << 20 else 200 if size < 1 << 27 else 20
        waited, row = [], []
        for _ in range(4):
            dist.barrier()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(calls):
                dist.all_reduce(x)
            torch.cuda.synchronize()
            row.append((time.perf_counter() - begin) / calls)
            begin = time.perf_counter()
            for _ in range(calls // 10):
                dist.all_reduce(x)
                torch.cuda.synchronize()
            waited.append((time.perf_counter() - begin) / (calls // 10))
        if index == 0:
            bus = size * 2 * (count - 1) / count / min(row) / 1e9
            print(f"torch {size:>11} B  waited for {min(waited) * 1e6:9.1f} us  in a row {min(row) * 1e6:9.1f} us  bus {bus:6.1f} GB/s")
    dist.destroy_process_group()


if __name__ == "__main__":
    gpus = int(sys.argv[1]) if len(sys.argv) > 1 else torch.cuda.device_count()
    mp.spawn(rank, args=(gpus,), nprocs=gpus)
