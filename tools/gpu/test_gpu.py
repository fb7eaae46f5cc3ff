"""Tests tools/check --gpu without a GPU: its jobs are commands of the shell. Also tools/kernels and tools/checked.py."""
import contextlib
import io
import json
import os
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1]))
import check
import checked
import jobs
import kernels
import runner
from jobs import Job
from state import State, read

# Stands for a test program: it lists its cases, and what a case is called says what it does.
PROGRAM = """#!/bin/bash
if [ "$2" = --list-test-names-only ]; then
  case $1 in
    '[cuda][alone]') echo alone; exit 1 ;;
    '[cuda][large]') exit 0 ;;
    *) printf '%s\\n' good bad 'hangs, for ever' skipped alone 'sorting is stable whatever the length'; exit 6 ;;
  esac
fi
case $1 in
  bad) echo wrong; exit 1 ;;
  hangs*) sleep 100 & sleep 100 ;;
  skipped) echo 'skipped: "skipped": there is one GPU'; exit 77 ;;
esac
echo "ran $1 $TSL_TEST_SHARD"
"""


def shell(name, line, **others):
    return Job(name, ("bash", "-c", line), **others)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for module, name, value in ((check, "WORK", self.root / "work"), (check, "SPARE", 0), (runner, "LEAST_TIME", 0.1)):
            patch = mock.patch.object(module, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def run_jobs(self, some, seconds=20, cores=4):
        """Gives what was reported, in the order of the ends: (name, result, output)."""
        seen = []
        machine = runner.Machine([min(os.sched_getaffinity(0))] * cores)
        report = lambda job, result, seconds, output: seen.append((job.name, result, output))
        runner.Runner(machine, self.root, {"GIVEN": "yes"}, time.monotonic() + seconds, report).run(some)
        return seen

    def make_bundle(self):
        """Makes a bundle whose only program is PROGRAM, as test_jit."""
        program = self.root / "bundle/bin/test_jit"
        program.parent.mkdir(parents=True)
        program.write_text(PROGRAM)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        (self.root / "bundle/manifest.json").write_text(json.dumps({"commit": "c0ffee", "base": "abcdef", "changed": []}))
        return self.root / "bundle"

    def output(self, function, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            function(*arguments)
        return out.getvalue()

    def check(self, *options):
        """Gives what the whole program prints, and its exit status."""
        out = io.StringIO()
        arguments = ["--bundle", str(self.root / "bundle"), "--cache", str(self.root / "kernels"), "--state",
                     str(self.root / "state.json"), *options]
        with contextlib.redirect_stdout(out):
            status = check.main(arguments)
        return out.getvalue(), status


class Runs(Case):
    def test_results_are_those_of_the_commands(self):
        seen = self.run_jobs([shell("a", "echo $GIVEN; exit 0"), shell("b", "exit 3"), shell("c", "exit 77")])
        self.assertEqual({name: result for name, result, _ in seen}, {"a": "passed", "b": "failed", "c": "skipped"})
        self.assertIn("yes", dict((name, output) for name, _, output in seen)["a"])

    def test_a_job_that_hangs_costs_its_own_limit(self):
        begin = time.monotonic()
        seen = self.run_jobs([shell("hangs", "sleep 60", limit=1), shell("good", "true")])
        self.assertEqual([(name, result) for name, result, _ in seen], [("good", "passed"), ("hangs", "failed")])
        self.assertIn("ran into its limit of 1 s", seen[1][2])
        self.assertLess(time.monotonic() - begin, 10)

    def test_what_runs_at_the_end_is_killed_with_its_children_and_left(self):
        file = self.root / "child"
        seen = self.run_jobs([shell("long", f"(sleep 2; touch {file}) & wait"), shell("short", "true")], seconds=1)
        self.assertEqual([name for name, _, _ in seen], ["short"])
        time.sleep(1.5)
        self.assertFalse(file.exists())

    def test_nothing_runs_beside_a_job_that_is_alone(self):
        log = self.root / "log"
        jobs_of = lambda name, **others: shell(name, f"echo + >>{log}; sleep 0.3; echo {name} >>{log}; echo - >>{log}", **others)
        self.run_jobs([jobs_of("a"), jobs_of("b"), jobs_of("alone", group="alone"), jobs_of("c")])
        lines = log.read_text().split()
        at = lines.index("alone")
        self.assertEqual(lines[at - 1:at + 2], ["+", "alone", "-"])
        self.assertEqual(lines[:at - 1].count("+"), lines[:at - 1].count("-"))

    def test_of_a_group_one_job_runs_at_a_time_while_others_run(self):
        log = self.root / "log"
        large = lambda name: shell(name, f"mkdir {self.root}/lock || exit 1; sleep 0.3; rmdir {self.root}/lock", group="large")
        seen = self.run_jobs([large("a"), large("b"), shell("c", f"echo c >{log}")])
        self.assertEqual([result for _, result, _ in seen], ["passed"] * 3)
        self.assertEqual(seen[0][0], "c")

    def test_jobs_that_write_files_of_the_same_name_do_not_meet(self):
        keeps = lambda name: shell(name, f'echo {name} >"$TMPDIR/file"; sleep 0.3; cat "$TMPDIR/file"; echo "in $TMPDIR"')
        seen = self.run_jobs([keeps("a"), keeps("b")])
        self.assertEqual(sorted((name, output.split()[0]) for name, _, output in seen), [("a", "a"), ("b", "b")])
        for _, _, output in seen:
            self.assertFalse(Path(output.split()[2]).exists())

    def test_each_job_has_a_core_and_two_gpus_if_there_are_some(self):
        machine = runner.Machine([0, 1, 2, 3], gpus=2)
        self.assertEqual([machine.gpus_of(slot) for slot in range(3)], ["0,1", "1,0", "0,1"])
        self.assertEqual(runner.Machine([0], gpus=1).gpus_of(5), "0")


class Orders(Case):
    def test_what_a_change_concerns_comes_first(self):
        self.assertEqual(jobs.touched_areas(["src/backend/cuda/libraries/fft.cpp"]), {"backend_cuda", "matrix", "models"})
        self.assertEqual(jobs.touched_areas(["tests/lang/sort.tsl", "README.md"]), {"lang/sort"})
        some = [Job("a", (), areas=("jit",)), Job("b", (), areas=("oracle/onnx",)), Job("c", (), areas=("oracle/shape",)),
                Job("d", (), areas=("api",), group="alone")]
        order = lambda areas: "".join(job.name for job in jobs.in_order(some, areas))
        self.assertEqual(order(set()), "dabc")
        self.assertEqual(order({"oracle"}), "dbca")
        self.assertEqual(order({"oracle/shape"}), "dcab")

    def test_every_room_that_a_gpu_runs_concerns_some_jobs(self):
        for room in ("tensor", "graph", "exec", "jit", "backend/cuda/codegen", "backend/cuda/driver", "autodiff", "builtins",
                     "vm", "value", "engine", "api"):
            self.assertTrue(jobs.touched_areas([f"src/{room}/x.cpp"]), room)

    def test_shards_are_drawn_anew_with_another_seed_alone(self):
        bundle = jobs.Bundle(self.make_bundle())
        names = lambda seed: [job.name for job in jobs.matrix_jobs(bundle, seed, 5)]
        self.assertEqual(names(1), names(1))
        self.assertNotEqual(names(1), names(2))
        self.assertEqual(len(set(names(1))), 10)

    def test_random_programs_of_both_families_are_300_each(self):
        some = jobs.random_jobs(jobs.Bundle(self.make_bundle()), 7_000_000)
        for case in jobs.FAMILIES.values():
            of_family = [job.environment for job in some if job.command[1] == case]
            numbers = [int(each["TSL_CORPUS_FIRST"]) + i for each in of_family for i in range(int(each["TSL_CORPUS_PROGRAMS"]))]
            self.assertEqual(sorted(numbers), list(range(7_000_000, 7_000_300)))

    def test_names_of_jobs_differ(self):
        bundle = jobs.Bundle(self.make_bundle())
        for folder, file in (("tests/oracle/cases", "onnx.txt"), ("tests/oracle/cases", "shape.txt"), ("tests/lang", "sort.tsl")):
            (bundle.folder / folder).mkdir(parents=True, exist_ok=True)
            (bundle.folder / folder / file).write_text("")
        names = [job.name for job in jobs.all_jobs(bundle, 1, 8)]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("chapter sort", names)

    def test_names_of_cases_are_patterns(self):
        self.assertEqual(jobs.pattern_of("a, b [c]"), "a\\, b \\[c]")


class Remembers(Case):
    job = Job("a", ())

    def state(self, commit="c1", seed=1):
        return State(self.root / "state.json", commit, seed)

    def test_the_next_call_goes_on_with_the_same_seed(self):
        self.state(seed=5).record(self.job, "passed", 1)
        after = self.state(seed=6)
        self.assertTrue(after.is_done(self.job))
        self.assertEqual(after.seed, 5)

    def test_a_job_that_failed_runs_again(self):
        self.state().record(self.job, "failed", 1)
        self.assertFalse(self.state().is_done(self.job))
        self.assertEqual(self.state().result(self.job), "failed")

    def test_another_commit_begins_anew_and_knows_which_one_passed(self):
        before = self.state()
        before.record(self.job, "passed", 1)
        before.finish([self.job])
        after = self.state("c2", 9)
        self.assertFalse(after.is_done(self.job))
        self.assertEqual((after.seed, after.data["passed_commit"]), (9, "c1"))

    def test_a_commit_with_failures_or_jobs_left_has_not_passed(self):
        for results in ({"a": "failed"}, {}):
            state = self.state()
            for name, result in results.items():
                state.record(Job(name, ()), result, 1)
            state.finish([self.job])
            self.assertEqual(state.data["passed_commit"], "")

    def test_a_damaged_file_is_none(self):
        (self.root / "state.json").write_text('{"commit": "c1", "jobs"')
        self.assertEqual(read(self.root / "state.json"), {})
        self.assertFalse(self.state().is_done(self.job))


class Checks(Case):
    def test_results_come_with_their_reasons_and_the_last_line_counts(self):
        self.make_bundle()
        out, status = self.check("--only", "good|bad|: skipped", "--minutes", "0.5")
        self.assertEqual(status, 1)
        self.assertRegex(out, r"passed +[\d.]+ s  test_jit: good\n")
        self.assertIn("    wrong\n", out)
        self.assertIn('    "skipped": there is one GPU\n', out)
        self.assertTrue(out.endswith("1 passed, 1 failed, 0 left\n"), out)

    def test_what_is_left_runs_in_the_next_call(self):
        self.make_bundle()
        out, status = self.check("--only", "good|hangs", "--minutes", "0.02")
        self.assertEqual(status, 0)
        self.assertTrue(out.endswith("1 passed, 0 failed, 1 left\n"), out)
        out, _ = self.check("--only", "good|hangs", "--minutes", "0.02")
        self.assertIn("2 jobs, 1 to run", out)
        self.assertNotIn("good", out)

    def test_long_cases_run_in_shards(self):
        self.make_bundle()
        out, status = self.check("--only", "sorting", "--minutes", "0.5")
        self.assertTrue(out.endswith("4 passed, 0 failed, 0 left\n"), out)
        self.assertEqual(status, 0)

    def test_without_a_gpu_the_reason_is_all_there_is(self):
        program = self.make_bundle() / "bin/tsl"
        program.write_text("#!/bin/sh\necho no driver >&2; exit 1\n")
        program.chmod(0o700)
        self.assertEqual(self.check(), ("skipped: no driver\n", runner.ALL_SKIPPED))

    def test_an_archive_is_unpacked_once(self):
        folder = self.make_bundle()
        archive = self.root / "tsl.tar.xz"
        with tarfile.open(archive, "w:xz") as files:
            files.add(folder, ".")
        first = check.unpacked(archive)
        (first / "own").write_text("")
        self.assertTrue((check.unpacked(archive) / "own").exists())
        self.assertEqual(check.manifest_of(first)["commit"], "c0ffee")
        os.utime(archive, (1, 1))
        self.assertFalse((check.unpacked(archive) / "own").exists())


class Packs(Case):
    def fill(self, count, size):
        folder = self.root / "cache"
        (folder / "kernels").mkdir(parents=True)
        for i in range(count):
            entry = folder / f"kernels/{i:03}"
            entry.write_bytes(os.urandom(size))
            os.utime(entry, (i, i))
        return folder

    def test_what_was_packed_is_found_and_names_the_seed(self):
        archive = self.root / "kernels.tar.xz"
        folder = self.fill(5, 100)
        self.assertEqual(kernels.pack(folder, archive, 1 << 20, {"seed": 7}), (5, 5))
        found, about = check.kernels_in(archive)
        self.assertEqual(about, {"seed": 7})
        self.assertEqual(stat.S_IMODE((found / "kernels").stat().st_mode), 0o700)
        for path in kernels.entries(folder):
            self.assertEqual((found / "kernels" / path.name).read_bytes(), path.read_bytes())

    def test_an_archive_keeps_within_its_size_and_has_what_came_first(self):
        archive = self.root / "kernels.tar.xz"
        taken, found = kernels.pack(self.fill(40, 100_000), archive, 3 << 20, {})
        self.assertEqual(found, 40)
        self.assertTrue(18 < taken < 32, taken)
        self.assertLessEqual(archive.stat().st_size, 3 << 20)
        with tarfile.open(archive) as files:
            self.assertEqual(files.getnames()[2:], [f"kernels/{i:03}" for i in range(taken)])

    def test_only_the_commit_whose_kernels_were_compiled_has_their_seed(self):
        about = {"seed": 7, "commit": "c1"}
        self.assertEqual(check.seed_for("c1", about), 7)
        self.assertNotEqual(check.seed_for("c2", about), check.seed_for("c2", about))
        self.assertNotEqual(check.seed_for("c1", {}), check.seed_for("c1", {}))

    def test_a_cache_is_filled_by_all_jobs_once(self):
        self.make_bundle()
        options = {"--bundle": "bundle", "--cache": "cache", "--to": "k.tar.xz"}
        arguments = [word for name, file in options.items() for word in (name, str(self.root / file))]
        run = lambda: self.output(kernels.main, [*arguments, "--minutes", "0.2", "--only", "good|bad"])
        self.assertIn("2 of 2 jobs", run())
        self.assertIn("0 of 0 jobs", run())
        self.assertEqual(check.kernels_in(self.root / "k.tar.xz")[1]["commit"], "c0ffee")

    def test_jobs_whose_time_goes_elsewhere_fill_nothing(self):
        some = [Job("python: beside PyTorch", ()), Job("random lets 1 to 10", ())]
        self.assertEqual([job.name for job in kernels.worth_filling(some)], ["random lets 1 to 10"])


class Notes(Case):
    def setUp(self):
        super().setUp()
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.root)
        Path("docs").mkdir()
        self.git("init", "-q")
        self.commit("a")

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True, capture_output=True)

    def commit(self, name):
        Path(name).write_text(str(time.time()))
        self.git("add", "-A")
        self.git("commit", "-qm", name)

    def test_a_row_replaces_that_of_the_part(self):
        checked.note("asan", "passed, 5 s", "2026-01-01", "1" * 40)
        checked.note("costs", "failed (1), 2 s", "2026-01-02", "2" * 40)
        checked.note("asan", "passed | 6 s", "2026-01-03", "3" * 40)
        rows = checked.rows_of(checked.PAGE.read_text())
        self.assertEqual(rows, {"asan": ["2026-01-03", "3" * 10, "passed / 6 s"],
                                "costs": ["2026-01-02", "2" * 10, "failed (1), 2 s"]})

    def test_a_commit_of_the_page_alone_is_none_to_check(self):
        first = checked.commit()
        checked.note("asan", "passed")
        self.commit("docs/checked.md")
        self.assertEqual(checked.commit(), first)
        self.commit("b")
        self.assertNotEqual(checked.commit(), first)

    def test_the_gpu_has_a_row(self):
        jobs_of = {"a": {"result": "passed"}, "b": {"result": "failed"}, "c": {"result": "skipped"}}
        state = {"commit": "f" * 40, "date": "2026-01-01", "machine": "1 NVIDIA H200", "of": 5, "jobs": jobs_of}
        Path("state.json").write_text(json.dumps(state))
        checked.note_gpu("state.json")
        row = checked.rows_of(checked.PAGE.read_text())["gpu"]
        self.assertEqual(row, ["2026-01-01", "f" * 10, "1 passed, 1 failed, 2 left, 1 skipped, on 1 NVIDIA H200"])
        Path("state.json").write_text(json.dumps({**state, "commit": "f+1"}))
        with self.assertRaises(SystemExit):
            checked.note_gpu("state.json")


if __name__ == "__main__":
    unittest.main()
