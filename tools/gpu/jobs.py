"""The jobs of tools/check --gpu: what they run, what of the repository they test, and in which order they are worth it."""
import os
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

# Programs with cases tagged [cuda], and the room that each tests.
PROGRAMS = {"test_backend_cuda": "backend_cuda", "test_jit": "jit", "test_engine": "engine", "test_api": "api",
            "test_builtins": "builtins"}
HEAVY = "test_jit"
# Cases of many kernels, by the start of their names, and how many shards they have; all others are one job each.
SHARDED = {"sorting is stable whatever the length": 4, "convolutions of whole numbers": 4, "scattering": 3,
           "running sums and products": 4, "windows add up": 2, "the language's scripts run alike": 40}
ONE_BY_ONE = "[cuda]~[matrix]~[random]~[all]"
LIMIT = 240  # seconds of a job, most of which are for compiling
MATRIX_SHARDS, ORACLE_SHARDS = 96, 48
RANDOM_PROGRAMS, RANDOM_TOGETHER = 300, 10
FAMILIES = {"programs": "random programs run alike on all tiers of a GPU",
            "lets": "random functions of many lets run alike on all tiers of a GPU"}
MODELS = ("resnet18", "mobilenet_v2", "densenet121", "vit_tiny", "unet", "lstm", "bert", "llama", "gpt2", "vae", "neural_ode",
          "pinn")

# What a change concerns: the areas of the jobs that are run first, by the start of a file's name. The first row that fits
# counts. `{stem}` is the file's name without folders and ending.
AREAS = (
    ("src/backend/cuda/libraries/", "backend_cuda matrix models"),
    ("src/backend/cuda/kernels/", "backend_cuda matrix models random"),
    ("src/backend/cuda/", "backend_cuda matrix random"),
    ("src/backend/", "matrix"),
    ("src/graph/", "jit random models"),
    ("src/exec/", "jit random backend_cuda"),
    ("src/jit/", "jit random models"),
    ("src/autodiff/", "derivatives models"),
    ("src/tensor/", "matrix oracle"),
    ("src/builtins/", "builtins oracle lang"),
    ("src/io/", "lang"),
    ("src/vm/", "lang random"),
    ("src/bytecode/", "lang random"),
    ("src/value/", "lang random"),
    ("src/engine/", "engine lang"),
    ("src/api/", "api python"),
    ("src/base/", "engine backend_cuda"),
    ("python/", "python"),
    ("stdlib/", "oracle models lang"),
    ("tests/oracle/cases/", "oracle/{stem}"),
    ("tests/oracle/", "oracle"),
    ("tests/lang/support/", "lang"),
    ("tests/lang/", "lang/{stem}"),
    ("tests/tiers/", "scripts"),
    ("tests/backend/cuda/", "backend_cuda"),
    ("tests/jit/", "jit"),
    ("tests/engine/", "engine"),
    ("tests/api/", "api"),
    ("tests/builtins/", "builtins"),
    ("tests/python/", "python"),
    ("tests/support/random", "random"),
    ("tests/models/", "models"),
    ("examples/models/", "models/{stem}"),
    ("benchmarks/models/", "models"),
    ("examples/", "scripts"),
)


@dataclass(frozen=True)
class Job:
    name: str  # the same in every call
    command: tuple
    environment: dict = field(default_factory=dict, hash=False)
    limit: int = LIMIT  # seconds
    areas: tuple = ()
    group: str = ""  # "alone": nothing runs beside it; of any other group one job runs at a time


def touched_areas(files):
    """Gives the areas that changed files concern."""
    areas = set()
    for name in files:
        for start, concerned in AREAS:
            if name.startswith(start):
                areas.update(concerned.format(stem=Path(name).stem).split())
                break
    return areas


def is_touched(job, areas):
    """Whether a job is of one of the areas: "oracle" is of "oracle" and of "oracle/onnx", which is not of "oracle/shape"."""
    return any(own == area or own.startswith(area + "/") for own in job.areas for area in areas)


def in_order(jobs, areas):
    """Puts jobs that need the machine for themselves first, since nothing runs yet, then those that a change concerns."""
    return sorted(jobs, key=lambda job: (job.group != "alone", not is_touched(job, areas)))


class Bundle:
    """What tools/bundle has made, in a folder."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def program(self, name):
        return str(self.folder / "bin" / name)

    def environment(self):
        libraries = [str(self.folder / "lib")] + [path for path in [os.environ.get("LD_LIBRARY_PATH")] if path]
        return {"LD_LIBRARY_PATH": ":".join(libraries)}

    def cases(self, program, tests):
        """Gives the names of a program's cases."""
        path = Path(self.program(program))
        if not path.exists():
            return []
        listed = subprocess.run([path, tests, "--list-test-names-only"], cwd=self.folder, capture_output=True, text=True,
                                env={**os.environ, **self.environment()})
        return [line for line in listed.stdout.splitlines() if line.strip()]

    def files(self, folder, ending):
        return sorted(path.stem for path in (self.folder / folder).glob("*" + ending))


def pattern_of(case):
    """Gives the pattern that selects a case by its name."""
    return case.replace("\\", "\\\\").replace(",", "\\,").replace("[", "\\[")


def shards_of(case):
    return next((count for start, count in SHARDED.items() if case.startswith(start)), 1)


def group_of(case, alone, large):
    return "large" if case in large else "alone" if case in alone else ""


def suite(bundle):
    """The cases tagged [cuda], each by itself, so that one that hangs costs its own limit."""
    jobs = []
    for program, room in PROGRAMS.items():
        alone, large = set(bundle.cases(program, "[cuda][alone]")), set(bundle.cases(program, "[cuda][large]"))
        for case in bundle.cases(program, ONE_BY_ONE):
            areas = ("scripts",) if case.startswith("the language's scripts") else (room,)
            shards = shards_of(case)
            for k in range(1, shards + 1):
                part, environment = (f" {k}/{shards}", {"TSL_TEST_SHARD": f"{k}/{shards}"}) if shards > 1 else ("", {})
                jobs.append(Job(f"{program}: {case}{part}", (bundle.program(program), pattern_of(case)), environment, LIMIT,
                                areas, group_of(case, alone, large)))
    return jobs


def random_jobs(bundle, first, environment=None, prefix="random"):
    jobs = []
    for start in range(0, RANDOM_PROGRAMS, RANDOM_TOGETHER):
        for family, case in FAMILIES.items():
            numbers = {"TSL_CORPUS_FIRST": str(first + start), "TSL_CORPUS_PROGRAMS": str(RANDOM_TOGETHER)}
            jobs.append(Job(f"{prefix} {family} {start + 1} to {start + RANDOM_TOGETHER}", (bundle.program(HEAVY), case),
                            {**numbers, **(environment or {})}, LIMIT, (prefix,)))
    return jobs


def drawn_shards(bundle, case, area, shards, seed, count):
    drawn = random.Random(f"{seed} {area}").sample(range(1, shards + 1), count)
    return [Job(f"{area} {k}/{shards}", (bundle.program(HEAVY), case), {"TSL_TEST_SHARD": f"{k}/{shards}"}, LIMIT, (area,))
            for k in drawn]


def matrix_jobs(bundle, seed, count):
    cases = {"matrix": "every op runs alike on all tiers of a GPU", "derivatives": "derivatives run alike on all tiers of a GPU"}
    drawn = [drawn_shards(bundle, case, area, MATRIX_SHARDS, seed, count) for area, case in cases.items()]
    return [job for pair in zip(*drawn) for job in pair]


def oracle_jobs(bundle, seed, count):
    """Shards of each file of cases; ONNX's last. `count` shards of every file, drawn anew."""
    jobs = []
    for name in sorted(bundle.files("tests/oracle/cases", ".txt"), key=lambda name: name == "onnx"):
        for k in random.Random(f"{seed} {name}").sample(range(1, ORACLE_SHARDS + 1), count):
            environment = {"TSL_TEST_DEVICE": "cuda", "TSL_ORACLE_FILE": f"/{name}.txt", "TSL_TEST_SHARD": f"{k}/{ORACLE_SHARDS}"}
            jobs.append(Job(f"oracle {name} {k}/{ORACLE_SHARDS}", (bundle.program("test_builtins"), "[oracle]"), environment,
                            LIMIT, (f"oracle/{name}",)))
    return jobs


def model_jobs(bundle):
    """Twenty steps of training, interpreted and compiled."""
    command = ("bash", "tests/compare_tiers.sh", bundle.program("tsl"), "tests/models/training.tsl", "--device", "cuda")
    return [Job(f"model {name}", command, {"TSL_SCRIPT_ARGUMENTS": name}, LIMIT, (f"models/{name}",)) for name in MODELS]


def chapter_jobs(bundle):
    return [Job(f"chapter {name}", (bundle.program("tsl"), "test", "--device", "cuda", f"tests/lang/{name}.tsl"), {}, LIMIT,
                (f"lang/{name}",)) for name in bundle.files("tests/lang", ".tsl")]


def sharing_jobs(bundle, first):
    """Launches one by one, each compared with one in memory of its own."""
    return random_jobs(bundle, first, {"TSL_CHECK_SHARING": "1"}, "sharing")[1::2][:12]


def python_jobs(bundle):
    environment = {"TSL_LIBRARY": str(bundle.folder / "lib/libtsl.so.0.1"), "PYTHONPATH": str(bundle.folder / "python"),
                   "PYTHONDONTWRITEBYTECODE": "1"}
    command = ("python3", "-m", "unittest", "discover", "-s", "tests/python", "-p", "test_torch.py")
    return [Job("python: beside PyTorch", command, environment, LIMIT, ("python",))]


def all_jobs(bundle, seed, shards):
    """Gives all jobs, the most worth first. `shards`: how many are drawn of the matrix, of derivatives and of each of the
    oracle's files."""
    first = seed * 1_000_000
    cases = suite(bundle)
    scripts = [job for job in cases if "scripts" in job.areas]
    jobs = [job for job in cases if job not in scripts] + random_jobs(bundle, first) + matrix_jobs(bundle, seed, shards)
    jobs += oracle_jobs(bundle, seed, max(1, shards // 8)) + model_jobs(bundle) + python_jobs(bundle) + chapter_jobs(bundle)
    return jobs + scripts + sharing_jobs(bundle, first)
