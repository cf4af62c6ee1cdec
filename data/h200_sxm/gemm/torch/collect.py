"""Measures bf16 GEMM points on this machine's GPU with PyTorch and writes them as the database does.

usage: collect.py OUT_DIR [POINTS]

y[m,n] = x[m,k] W[n,k]^T through torch.nn.functional.linear. The shapes are drawn with a fixed seed,
the same number for each m of the public database's sweep, n and k from its list. A point is a CUDA
graph of up to 6 calls with a weight each and one x (so weights under the L2 cache's size stay warm,
as in the database), 3 warm-up replays, then replays for at least 0.3 s, timed by CUDA events; the
latency is the mean of a call. Weights and x are normal, since zeros run faster. Power is the mean of
NVML readings about every 50 ms over the timed part. Clocks are left as they are.
"""

import hashlib
import pathlib
import random
import sys
import threading
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pynvml
import torch

M = [*range(1, 18), 32, 33, 48, 49, 64, 65, 80, 81, 96, 97, 112, 113, 128, 129, 160, 161, 192, 193, 224, 225, 256, 257,
     512, 513, 768, 769, 1024, 1025, *(s + e for s in range(1280, 4353, 256) for e in (0, 1)), 8192, 16384, 32768]
NK = [32, 64, 128, 256, 512, 768, 1024, 1536, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 16384,
      51200, 65536]
SEED = 20261121
COPIES, WARMUPS, LEAST_S, BUDGET = 6, 3, 0.3, 60 << 30


def shapes(count):
    draw = random.Random(SEED)
    found = set()
    while len(found) < count:
        m = M[len(found) % len(M)]
        n, k = draw.choice(NK), draw.choice(NK)
        if 2 * (m * k + COPIES * n * k + COPIES * m * n) < BUDGET:
            found.add((m, n, k))
    return sorted(found)


class PowerMeter(threading.Thread):
    def __init__(self, gpu):
        super().__init__(daemon=True)
        self.gpu, self.readings, self.on, self.done = gpu, [], False, False

    def run(self):
        while not self.done:
            if self.on:
                self.readings.append(pynvml.nvmlDeviceGetPowerUsage(self.gpu) / 1000)
            time.sleep(0.05)


def measure(m, n, k, meter):
    x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    weights = [torch.randn(n, k, device="cuda", dtype=torch.bfloat16) / k**0.5 for _ in range(COPIES)]
    outs = [torch.nn.functional.linear(x, w) for w in weights]  # loads and plans the kernels
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outs = [torch.nn.functional.linear(x, w) for w in weights]
    for _ in range(WARMUPS):
        graph.replay()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def timed(runs):
        start.record()
        for _ in range(runs):
            graph.replay()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end)

    runs = max(6, min(20000, int(LEAST_S * 1000 / (timed(6) / 6)) + 1))
    # The product is checked against one in float32, a row of it.
    ref = x[:1].float() @ weights[-1].float().T
    err = ((outs[-1][:1].float() - ref).norm() / ref.norm()).item()
    assert err < 2e-2, (m, n, k, err)
    meter.readings, meter.on = [], True
    ms = timed(runs)
    meter.on = False
    power = sum(meter.readings) / len(meter.readings)
    return ms / runs / COPIES, power


def main():
    out = pathlib.Path(sys.argv[1])
    points = shapes(int(sys.argv[2]) if len(sys.argv) > 2 else 4 * len(M))
    random.Random(SEED).shuffle(points)  # drift of the card must not look like a trend in m
    pynvml.nvmlInit()
    gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
    limit = pynvml.nvmlDeviceGetPowerManagementLimit(gpu) / 1000
    meter = PowerMeter(gpu)
    meter.start()
    device = torch.cuda.get_device_name(0)
    warm = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    for _ in range(200):
        warm @ warm
    rows = []
    for m, n, k in points:
        latency, power = measure(m, n, k, meter)
        rows.append((m, n, k, latency, power))
        torch.cuda.empty_cache()
    meter.done = True
    # A second look at 30 points, after all others: how well a rerun agrees.
    again = []
    meter2 = PowerMeter(gpu)
    meter2.start()
    for m, n, k, latency, _ in random.Random(1).sample(rows, 30):
        again.append(measure(m, n, k, meter2)[0] / latency - 1)
    meter2.done = True
    rows.sort()
    const = lambda v: pa.array([v] * len(rows), pa.string())
    table = pa.table({
        "framework": const("torch"),
        "version": const(torch.__version__),
        "device": const(device),
        "op_name": const("gemm"),
        "kernel_source": const("torch.nn.functional.linear"),
        "gemm_dtype": const("bfloat16"),
        "m": pa.array([r[0] for r in rows], pa.int64()),
        "n": pa.array([r[1] for r in rows], pa.int64()),
        "k": pa.array([r[2] for r in rows], pa.int64()),
        "latency": pa.array([r[3] for r in rows], pa.float64()),
        "power": pa.array([r[4] for r in rows], pa.float64()),
        "power_limit": pa.array([limit] * len(rows), pa.float64()),
    })
    path = out / "gemm_perf.parquet"
    pq.write_table(table, path, compression="zstd")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    spread = sorted(abs(a) for a in again)
    median, worst = spread[len(spread) // 2], spread[-1]
    version = torch.__version__.split("+")[0]
    driver = pynvml.nvmlSystemGetDriverVersion()
    (out / "collection_meta.yaml").write_text(f"""\
# Written by ../collect.py, which says how a point is measured.
schema_version: 1
provenance: collected
runtime:
  framework: torch
  version: "{version}"
  cuda: "{torch.version.cuda}"
  driver: "{driver}"
tables:
  gemm_perf:
    status: complete
    rows: {len(rows)}
    sha256: {digest}
    collected_at: {time.strftime("%Y-%m-%d")}
    recipe:
      seed: {SEED}
      weight_copies: {COPIES}
      fill: normal
      cuda_graph: true
      warmups: {WARMUPS}
      least_timed_seconds: {LEAST_S}
    # 30 points measured again after all others: |rerun / recorded - 1|.
    rerun_median: {median:.4f}
    rerun_worst: {worst:.4f}
""")
    print(device, version, torch.version.cuda, driver, len(rows), f"rerun median {median:.4f} worst {worst:.4f}")


main()
