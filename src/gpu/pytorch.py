"""Measures points with PyTorch for `perfdb-gate remeasure --device process --command "python3 THIS"`.

Reads a request per line and answers a line each; docs/runner-protocol.md explains the form. It runs the
products that a recipe describes (operation gemm in bfloat16) as torch.nn.functional.linear. A runner for a
framework keeps main() and puts the framework's own call in place of calls(). With "replies" on standard output,
everything else that is printed goes to standard error.
"""

import json
import sys
import time

import torch

LONGEST_S = 1.0  # timed part of a sample: long units are run less often
QUIET_S, LATE_S, RESTED, LONGEST_REST_S = 0.01, 0.12, 0.99, 0.6  # see rest()
fastest, worked = 0, 0.0


def fill(shape, kind):
    if kind == "normal":
        return torch.randn(shape, device="cuda", dtype=torch.bfloat16)
    if kind == "constant":
        return torch.full(shape, 0.01, device="cuda", dtype=torch.bfloat16)
    return torch.zeros(shape, device="cuda", dtype=torch.bfloat16)


def calls(work):
    """A function that runs one timed unit: a call for each copy of the weights."""
    if work["operation"] != "gemm" or work["dtype"] != "bfloat16":
        raise NotImplementedError(f"this runner has no {work['operation']} in {work['dtype']}")
    m, n, k = (work["sizes"][name] for name in "mnk")
    weights = [fill((n, k), work["weight_fill"]) for _ in range(work["copies"])]
    inputs = [fill((m, k), work["input_fill"]) for _ in range(work["copies"] if work["inputs"] == "own" else 1)]
    pairs = [(inputs[i % len(inputs)], w) for i, w in enumerate(weights)]

    def unit():
        for x, w in pairs:
            torch.nn.functional.linear(x, w)

    return unit


def rest():
    """Waits until what ran before no longer holds the clocks down; NVML learns of that late."""
    global fastest, worked
    if worked < QUIET_S:
        return
    start = time.monotonic()
    time.sleep(LATE_S)
    while time.monotonic() - start < LONGEST_REST_S:
        try:
            mhz = torch.cuda.clock_rate()
        except Exception:  # NVML's Python module is not there
            worked = 0.0
            return
        fastest = max(fastest, mhz)
        if mhz >= RESTED * fastest:
            worked = 0.0
            return
        time.sleep(0.025)


def power_w(run, once):
    """Mean power over a second of it, read as often as the collectors do; none without NVML's Python module."""
    global worked
    watts, start = [], time.monotonic()
    worked += 1
    while time.monotonic() - start < 1:
        for _ in range(max(1, int(100 / once))):
            run()
        torch.cuda.synchronize()
        try:
            watts.append(torch.cuda.power_draw() / 1000)
        except Exception:
            return None
    return sum(watts) / len(watts)


def measure(request):
    global worked
    work = request.get("work")
    if work is None:
        raise NotImplementedError(f"{request['table']} has no recipe")
    unit = calls(work)
    unit()
    torch.cuda.synchronize()
    run = unit
    if work["cuda_graph"]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            unit()
        run = graph.replay
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def timed(runs):
        global worked
        start.record()
        for _ in range(runs):
            run()
        end.record()
        torch.cuda.synchronize()
        elapsed = start.elapsed_time(end)
        worked += elapsed / 1000
        return elapsed / runs / work["copies"]

    once = timed(1) * work["copies"]
    short = once < 1000 * LONGEST_S / work["runs"]
    runs = work["runs"] if short else max(1, int(1000 * LONGEST_S / once))
    samples = []
    for _ in range(request["samples"]):
        if work["rested"]:
            rest()
        for _ in range(work["warmups"] if short else 1):
            run()
        worked += once / 1000 * (work["warmups"] if short else 1)
        samples.append(timed(runs))
    power = power_w(run, once) if request.get("power") else None
    return {"samples_ms": samples, "power_w": power}


def main():
    replies, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        if "hello" in request:
            free, _ = torch.cuda.mem_get_info()
            versions = {"torch": torch.__version__, "cuda": torch.version.cuda}
            reply = {"device": torch.cuda.get_device_name(0), "memory_bytes": int(free * 0.9), "versions": versions}
        else:
            try:
                reply = {"id": request["id"], **measure(request)}
            except Exception as e:  # one point must not end the run
                reply = {"id": request["id"], "error": f"{type(e).__name__}: {e}".splitlines()[0]}
            torch.cuda.empty_cache()
        print(json.dumps(reply), file=replies, flush=True)


main()
