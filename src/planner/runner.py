"""Asks the planner's published package (aisimulate or aiconfigurator-core) about a database.

Reads one JSON request per line on standard input and answers each with one JSON line on standard output. perfdb-gate starts it as
`PYTHON -I -c SOURCE` in an empty folder, one process per version and state, because the package keeps its data paths per process.
Requests have `do` and, except for `hello`, `root` (the folder of systems):

  hello                                             -> {schema, package, version, python}
  versions {systems}                                -> {backends: [{system, backend, slots, latest}]}
  sources  {system, backend, version}               -> {tables: {file name: [[path below root, kernels or null], ...]}}
  load     {system, backend, version, tables}       -> {tables: {file name: null or error}}
  predict  {system, backend, version, model, parallel, quant, points}
                                                    -> {quant, operations: {name: [[kind, dtype, ...], ...]},
                                                        points: [{ms, power, ops: [[name, ms, source], ...]} or {error}]}
      `power` is the share of the time that comes from operations with measured energy.

An error is {class, text}. A request that fails as a whole is answered by {error}.
"""
import importlib
import importlib.metadata
import json
import logging
import os
import socket
import sys
import warnings

try:
    import resource
except ImportError:
    resource = None

SCHEMA = "perfdb-gate/planner/v1"
PACKAGES = [("aisimulate", "aisimulate_core"), ("aiconfigurator-core", "aiconfigurator_core")]
PHASES = {"prefill": (0, "context_ops"), "decode": (1, "generation_ops")}
NOT_KNOWN = "HuggingFaceDownloadError"

# Replies have the standard output for themselves: what the package prints goes to standard error.
replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
# Four processes run at a time; the largest version of the public database takes 310 MB.
if resource:
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
for threads in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"


def refuse(*_):
    raise OSError("perfdb-gate asks the planner without a network")


socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse


class Planner:
    """The package, and the database that was opened last."""

    def __init__(self):
        self.opened = self.handle = None
        for self.package, self.core_name in PACKAGES:
            try:
                self.core = importlib.import_module(self.core_name)
            except ImportError:
                continue
            self.version = importlib.metadata.version(self.package)
            return
        raise ImportError("neither aisimulate nor aiconfigurator-core is installed")

    def sdk(self, module):
        return importlib.import_module(f"{self.core_name}.sdk.{module}")

    def databases(self, root):
        """The package's module of databases, which reads this root alone."""
        module = self.sdk("perf_database")
        if module.get_systems_paths() != [root]:
            module.set_systems_paths([root])
        return module

    def open(self, request, unlisted=False):
        root, place = request["root"], [request[name] for name in ("system", "backend", "version")]
        allowed = {"allow_unlisted_version": True} if unlisted else {}
        database = self.databases(root).get_database(*place, systems_paths=root, **allowed)
        if database is None:
            # The package logs why it cannot open a version that is there, and returns nothing.
            if place[2] in self.declared(*place[:2], root):
                return self.databases(root).PerfDatabase(*place, root)
            raise LookupError("no data directory for this system, backend and version")
        return database

    def declared(self, system, backend, root):
        with open(os.path.join(root, system + ".yaml"), encoding="utf-8") as file:
            data = self.sdk("perf_database").yaml.safe_load(file)["data_dir"]
        return self.sdk("perf_database")._declared_versions(os.path.join(root, data), backend)

    # Each method below answers one kind of request.

    def hello(self, _):
        python = ".".join(map(str, sys.version_info[:3]))
        return {"schema": SCHEMA, "package": self.package, "version": self.version, "python": python}

    def versions(self, request):
        root = request["root"]
        module, backends = self.databases(root), []
        supported = module.get_supported_databases([root])
        for system in request["systems"]:
            for backend in supported.get(system, {}):
                slots = module.get_version_slots(system, backend, [root])
                latest = module.get_latest_database_version(system, backend, [root])
                backends.append({"system": system, "backend": backend, "slots": slots, "latest": latest})
        return {"backends": backends}

    def sources(self, request):
        database = self.open(request, unlisted=True)
        base, common = self.sdk("operations.base"), self.sdk("common")
        data = os.path.join(database.systems_root, database.system_spec["data_dir"])
        libraries = database.system_spec.get("misc") or {}
        tables = {}
        for name in common.PerfDataFilename:
            library = name.value.removesuffix("_perf.parquet")
            if library in ("nccl", "oneccl"):
                version = libraries.get(f"{library}_version")
                at = version and base.resolve_op_data_path(data, library, str(version), name.value)
                files = [(at, None)] if at else []
            else:
                primary = base.resolve_op_data_path(data, database.backend, database.version, name.value)
                files = database._build_op_sources(name, primary, data)
            files = [[os.path.relpath(path, request["root"]), kernels and sorted(kernels)]
                     for path, kernels in files if os.path.exists(path)]
            if files:
                tables[name.value] = files
        return {"tables": tables}

    def load(self, request):
        database = self.open(request, unlisted=True)
        handle = self.sdk("engine_table_view")._probe_engine_handle(database)
        found = {}
        for attribute, files in self.core.table_view_attributes():
            asked = [name for name in files if name in request["tables"]]
            if not asked:
                continue
            try:
                handle._engine.table_view_json(attribute)
                error = None
            except Exception as why:
                error = described(why, request["root"])
            for name in asked:
                # A view of several files names the file that it refuses.
                is_other = error and name not in error["text"] and any(other in error["text"] for other in files)
                found[name] = found.get(name) or (None if is_other else error)
        return {"tables": found}

    def predict(self, request):
        system, backend, model = request["system"], request["backend"], request["model"]
        quant = {}
        try:
            database = self.open(request)
            built = self.sdk("models").get_model(model, self.config(request, database), backend)
            modes = ("gemm", "moe", "kvcache", "fmha", "comm")
            quant = {mode: getattr(getattr(built.config, mode + "_quant_mode"), "name", None) for mode in modes}
            build = self.sdk("engine").build_engine_spec_json
            spec = build(built, model_path=model, system=system, backend=backend, backend_version=request["version"],
                         kv_block_size=None, systems_path=request["root"], nextn=0, database=database)
            spec, engine = json.loads(spec), self.engine(database, request)
        except Exception as why:
            error = described(why, request["root"])
            if error["class"] == NOT_KNOWN:
                error = {"class": "NotKnown", "text": f"{model} is not known to this package"}
            return {"quant": quant, "operations": {}, "points": [{"error": error}] * len(request["points"])}
        points = [self.point(engine, spec, point, request["root"]) for point in request["points"]]
        return {"quant": quant, "operations": operations(spec), "points": points}

    def engine(self, database, request):
        """The engine of the version, which keeps the tables that it has decoded for the next model."""
        place = [request[name] for name in ("root", "system", "backend", "version")]
        if self.opened != place:
            handle = self.sdk("engine").EngineHandle
            self.opened, self.handle = place, handle.for_database(database, systems_path=request["root"])
        return self.handle

    def config(self, request, database):
        system, backend, model = request["system"], request["backend"], request["model"]
        layout = [request["parallel"][name] for name in ("tp", "dp", "moe_tp", "moe_ep")]
        quant = {mode + "_quant_mode": request["quant"].get(mode) for mode in ("gemm", "moe", "kvcache", "fmha")}
        builders, models, helpers = self.sdk("config_builders"), self.sdk("models"), self.sdk("models.helpers")
        config = builders.build_model_config(layout[0], 1, *layout[1:], **quant)
        builders.apply_nextn(config, 0)
        models.resolve_context_fmha_by_data(config, model, database, backend, is_context_role=True)
        if hasattr(models, "resolve_dsv4_moe_arch"):
            models.resolve_dsv4_moe_arch(config, model, system_name=system, backend_name=backend)
        helpers.resolve_nvfp4_for_system(config, system, model)
        return config

    def point(self, engine, spec, point, root):
        phase, batch, tokens = point
        place, listed = PHASES[phase]
        try:
            parts = []
            for ops in distinct(spec[listed]):
                parts += engine.evaluate_ops_json(
                    json.dumps(ops), is_context=place == 0, batch_size=batch, s=tokens + place)
        except Exception as why:
            return {"error": described(why, root)}
        total = sum(part[1] for part in parts)
        powered = sum(part[1] for part in parts if part[2] > 0)
        ops = [[part[0], part[1], part[3]] for part in parts]
        return {"ms": total, "power": powered / total if total else 0.0, "ops": ops}


def distinct(ops):
    """A list of operations in parts without a name twice: the engine sums up what has one name."""
    parts, names = [[]], set()
    for op in ops:
        name = next(iter(op.values()))["name"]
        if name in names:
            parts.append([])
            names.clear()
        names.add(name)
        parts[-1].append(op)
    return parts


def operations(spec):
    """The kinds of operations, with their dtypes, by the name under which a step reports them."""
    found = {}

    def walk(node, name):
        if isinstance(node, list):
            for part in node:
                walk(part, name)
        elif isinstance(node, dict):
            for kind, fields in node.items():
                if isinstance(fields, dict) and "name" in fields:
                    texts = {k: v for k, v in fields.items() if isinstance(v, str)}
                    dtypes = sorted({v for k, v in texts.items() if "quant" in k or "dtype" in k})
                    kinds = found.setdefault(name or fields["name"], [])
                    if [kind, *dtypes] not in kinds:
                        kinds.append([kind, *dtypes])
                    walk(list(fields.values()), name or fields["name"])
                elif isinstance(fields, (dict, list)):
                    walk(fields, name)

    walk([spec["context_ops"], spec["generation_ops"]], None)
    return found


def described(why, root):
    """An error by class and first words, with paths below the root."""
    text = " ".join(str(why).replace(root + "/", "").split())
    return {"class": type(why).__name__, "text": text[:400]}


def main():
    planner = None
    for line in sys.stdin:
        root = ""
        try:
            request = json.loads(line)
            root = request.get("root", "")
            planner = planner or Planner()
            reply = json.dumps(getattr(planner, request["do"])(request), allow_nan=False)
        except Exception as why:
            reply = json.dumps({"error": described(why, root)})
        replies.write(reply + "\n")
        replies.flush()


main()
