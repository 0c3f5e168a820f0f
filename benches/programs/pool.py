"""Images over a pool of processes, one of which is killed in the middle."""
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np


def contrast(image):
    i, j = np.indices((64, 64))
    x = (i * 7919 + j * (104729 + image * 13)) % 251
    blurred = np.lib.stride_tricks.sliding_window_view(x, (3, 3)).mean((-2, -1))
    return blurred.std()


def fatal(image):
    os.kill(os.getpid(), signal.SIGKILL)


rebuilds, work = 0, fatal
while True:
    try:
        with ProcessPoolExecutor(2) as pool:
            futures = [pool.submit(work if image == 40 else contrast, image) for image in range(64)]
            contrasts = [future.result() for future in futures]
        break
    except BrokenProcessPool:
        rebuilds, work = rebuilds + 1, contrast
print("pool", rebuilds, sum(contrasts), contrasts[40])
