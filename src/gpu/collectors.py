"""Measures rows with the functions of a database's own collectors, for `perfdb-gate remeasure --runner collectors`.

Usage: python3 -I THIS DIR [FOLDER ...], where DIR is the repository that contains the folder `collector`, in an
environment in which the collectors run. Modules are also imported from each FOLDER, and with -I neither from the working
folder nor from PYTHONPATH. Reads a request per line and answers a line each; docs/runner-protocol.md explains the form. A
request's `call` names a function with its arguments. The function runs as it is, into a folder of its own, and the
rows that it writes there are the answer. What collectors print goes to standard error.
"""

import csv
import gc
import glob
import importlib
import importlib.metadata
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback

ENOUGH_S = 2.0  # no further sample of a point starts after this time
PACKAGES = {"torch": "torch", "vllm": "vllm", "sglang": "sglang", "trtllm": "tensorrt_llm"}
NOT_KEY = {"framework", "version", "device", "kernel_source", "latency", "power", "power_limit"}
# One of the processes that call a function together.
TOGETHER = '''
import importlib, json, sys
sys.path[:0], module, function, args, path = json.loads(sys.argv[1])
getattr(importlib.import_module(module), function)(*args, perf_filename=path)
'''
cases, groups = {}, {}


def listed(module, call):
    """The collector's own cases, listed once per environment."""
    name = module.__name__, call["cases"], json.dumps(call.get("env"))
    if name not in cases:
        cases[name] = [c["params"] if isinstance(c, dict) else c for c in getattr(module, call["cases"])()]
    return cases[name]


def holds(arg, case, place):
    """Whether a case has an argument. A case's list has any of its elements; what no column has, fits."""
    if isinstance(arg, dict) and "case" in arg:
        return True
    theirs = case[place] if place < len(case) else None
    if isinstance(arg, list) and isinstance(theirs, (list, tuple)):
        return all(value in theirs for value in arg)
    return arg == theirs


def arguments(module, call):
    """The arguments of a call, with attributes of the module and elements of a case looked up."""
    args = []
    for arg in call["args"]:
        if isinstance(arg, dict) and "type" in arg:
            name, arg = arg["type"], module
            for part in name.split("."):
                arg = getattr(arg, part)
        args.append(arg)
    if not call.get("cases"):
        return args
    fit = [case for case in listed(module, call) if all(holds(arg, case, i) for i, arg in enumerate(args))]
    for place, value in call.get("prefer", {}).items():
        fit = [case for case in fit if case[int(place)] == value] or fit
    if not fit:
        raise LookupError(f"no case of {call['cases']} has these arguments")
    asked = [arg["case"] if isinstance(arg, dict) else None for arg in args]
    # A case that ends early leaves the function's defaults.
    return [arg if place is None else fit[0][place] for arg, place in zip(args, asked) if place is None or place < len(fit[0])]


def together(call, path):
    """Calls the function in a process for each GPU, in an environment as torchrun makes it. Such a function may end its
    process."""
    import torch

    count, here = call["processes"], torch.cuda.device_count()
    if count > here:
        raise RuntimeError(f"the row is of {count} GPUs, and this machine has {here}")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    job = json.dumps([sys.path, call["module"], call["function"], arguments(None, call), path])
    env = {**os.environ, "WORLD_SIZE": str(count), "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    ranks = [{**env, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(count)]
    running = [subprocess.Popen([sys.executable, "-I", "-c", TOGETHER, job], env=rank, stdin=subprocess.DEVNULL) for rank in ranks]
    try:
        while None in (codes := [process.poll() for process in running]) and not any(codes):
            time.sleep(0.1)
    finally:
        for process in running:
            process.kill()
            process.wait()
    if any(codes):
        raise RuntimeError(f"the collector's processes ended with {codes}")


def written(call):
    """Calls the function once and returns the whole rows that it wrote; `table` is the file's name."""
    import torch

    module = None if call.get("processes") else importlib.import_module(call["module"])
    folder, before = tempfile.mkdtemp(prefix="rows-"), os.getcwd()
    env = call.get("env") or {}
    os.environ.update(env)
    os.chdir(folder)  # some collectors write to the working directory
    torch.set_default_dtype(torch.float32)  # the previous collector may have changed both
    torch.set_default_device(None)
    try:
        path = os.path.join(folder, call["file"])
        if module is None:
            together(call, path)
        else:
            getattr(module, call["function"])(*arguments(module, call), perf_filename=path, device="cuda:0")
        rows = []
        for path in glob.glob(folder + "/*.txt"):
            with open(path, newline="") as text:
                rows += [{**row, "table": os.path.basename(path)[:-4]} for row in csv.DictReader(text)]
        return [row for row in rows if None not in row and None not in row.values()]
    finally:
        os.chdir(before)
        for name in env:
            os.environ.pop(name, None)
        shutil.rmtree(folder, ignore_errors=True)
        gc.collect()
        torch.cuda.empty_cache()


def same(text, value):
    if isinstance(value, bool) or value is None:
        return text == ("" if value is None else str(value))
    if isinstance(value, (int, float)):
        try:
            return abs(float(text) - value) < 1e-9
        except ValueError:
            return False
    return text == value


def own(rows, request):
    """The row of a request among those that its call wrote."""
    key = request["key"]
    fit = [r for r in rows if all(same(r[n], v) for n, v in key.items() if n in r and n not in NOT_KEY)]
    for name, value in (("table", request["table"]), ("kernel_source", key.get("kernel_source"))):
        fit = [row for row in fit if row.get(name) == value] or fit
    if not fit:
        raise LookupError(f"none of the rows that the collector wrote ({len(rows)}) has this key")
    return fit[0]


def measure(request):
    call, start, rows = request["call"], None, []
    while len(rows) < request["samples"] and (start is None or time.monotonic() - start < ENOUGH_S):
        if call.get("group"):
            name = json.dumps([call["module"], call["function"], call["file"], call["group"]])
            if name not in groups:
                groups[name] = written(call)
            rows.append(own(groups[name], request))
            break
        rows.append(own(written(call), request))
        if start is None:
            start = time.monotonic()  # the first sample also imports and compiles
    sources = sorted({row.get("kernel_source", "") for row in rows})
    return {"samples_ms": [float(row["latency"]) for row in rows], "kernel_source": "/".join(sources)}


def launch_us(torch):
    """Time that the host needs for a launch that does nothing worth timing."""
    tensor = torch.zeros(1, device="cuda:0")
    times = []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(500):
            tensor.zero_()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / 500 * 1e6)
    return sorted(times)[2]


def driver():
    """The version of the GPU's driver; None if it is not known."""
    try:
        with open("/sys/module/nvidia/version") as text:
            return text.read().strip() or None
    except OSError:
        pass
    try:
        command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        lines = subprocess.run(command, capture_output=True, text=True, timeout=30).stdout.split()
        return lines[0] if lines and lines[0][0].isdigit() else None
    except (OSError, subprocess.SubprocessError):
        return None


def about():
    try:
        import torch
    except ImportError as e:
        sys.exit(f"{e}: start the runner where the framework runs, for example in its official image (docs/remeasure.md)")

    versions = {}
    for name, package in PACKAGES.items():
        try:
            versions[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    versions["CUDA"] = str(torch.version.cuda)
    if driver():
        versions["driver"] = driver()
    named = {"device": torch.cuda.get_device_name(0), "gpus": torch.cuda.device_count()}
    return {**named, "versions": versions, "launch_us": launch_us(torch)}


def main(folder, *modules):
    replies, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr
    os.dup2(2, 1)  # what C code prints
    sys.path[:0] = [folder, os.path.join(folder, "collector"), *modules]
    os.environ["COLLECTOR_MEASURE_POWER"] = "false"

    def say(reply):
        print(json.dumps(reply), file=replies, flush=True)

    for line in sys.stdin:
        request = json.loads(line)
        if "hello" in request:
            say(about())
            continue
        identity = {"id": request["id"]}
        if request["call"]["module"] not in sys.modules:
            say({**identity, "alive": f"importing {request['call']['module']}"})
        try:
            reply = measure(request)
        except BaseException as e:  # some collectors exit; one point must not end the run
            reply = {"error": f"{type(e).__name__}: {e}".splitlines()[0][:600], "traceback": traceback.format_exc()[-20000:]}
        say({**identity, **reply})
        if "CUDA error" in reply.get("error", ""):
            os._exit(3)  # nothing more can be measured in this process


main(*map(os.path.abspath, sys.argv[1:]))
