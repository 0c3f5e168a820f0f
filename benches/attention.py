"""The rows of src/libraries/dnn/native/beside/attention.rs for PyTorch: each of its back ends that takes them."""
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

ROUNDS = 7
BACK_ENDS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "Flash": SDPBackend.FLASH_ATTENTION}


def median(calls, call):
    times = []
    for _ in range(ROUNDS + 1):
        began = time.perf_counter()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - began) / calls)
    return statistics.median(times[1:]) * 1e6


def case(name, places, causal):
    q, dy = (torch.rand(1, 64, places, 128, device="cuda", dtype=torch.bfloat16) - 0.5 for _ in range(2))
    k, v = (torch.rand(1, 8, places, 128, device="cuda", dtype=torch.bfloat16) - 0.5 for _ in range(2))
    calls = 32768 // places

    def attend():
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)

    with sdpa_kernel(BACK_ENDS[name]):
        with torch.no_grad():
            forward = median(calls, attend)
        for x in (q, k, v):
            x.requires_grad_()
        y = attend()
        backward = median(calls, lambda: torch.autograd.grad(y, (q, k, v), dy, retain_graph=True))
    print(f"{places:6} {'causal' if causal else 'full':6}   forward {forward:8.1f}   gradients {backward:8.1f}   {name}", flush=True)


if __name__ == "__main__":
    print(torch.cuda.get_device_name(), torch.__version__, "us a call")
    for places in (2048, 4096, 8192, 16384):
        for causal in (True, False):
            for name in sys.argv[1:] or BACK_ENDS:
                try:
                    case(name, places, causal)
                except RuntimeError as error:
                    print(f"{places:6} {'causal' if causal else 'full':6}   {name}: {error}".splitlines()[0], flush=True)
