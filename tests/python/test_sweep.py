"""Tests the cases that benchmarks/sweep draws."""

import math
import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks" / "sweep"))
from draw import FAMILIES, MOST_ELEMENTS, draw  # noqa: E402, of the benchmarks
from run import agree  # noqa: E402
from predict import is_within, prediction_of, share_within  # noqa: E402
from tsl_side import script  # noqa: E402


class Sweep(unittest.TestCase):
    def test_a_seed_gives_the_same_cases(self):
        self.assertEqual(draw(1, 150, "cpu"), draw(1, 150, "cpu"))
        self.assertNotEqual(draw(1, 150, "cpu"), draw(2, 150, "cpu"))

    def test_every_family_is_drawn(self):
        for seed in range(1, 6):
            self.assertEqual({case.family for case in draw(seed, 150, "cpu")}, set(FAMILIES))

    def test_there_are_as_many_cases_as_asked_for_and_their_names_differ(self):
        cases = draw(1, 300, "cuda")
        self.assertEqual(len({case.name for case in cases}), 300)

    def test_no_input_is_larger_than_the_device_allows(self):
        for device, most in MOST_ELEMENTS.items():
            for case in draw(1, 300, device):
                for x in case.inputs:
                    self.assertLessEqual(math.prod(x["shape"]), most, case.name)
                    self.assertGreater(math.prod(x["shape"]), 0, case.name)

    def test_checksums_that_differ_do_not_agree(self):
        sums = [[100.0, 400.0, 100.0]]
        self.assertTrue(agree(sums, [[100.5, 402.0, 100.5]], "bf16"))
        self.assertFalse(agree(sums, [[100.5, 402.0, 100.5]], "f32"))
        self.assertFalse(agree(sums, [[100.0, 410.0, 100.0]], "bf16"))
        self.assertFalse(agree(sums, [[float("nan"), 400.0, 100.0]], "bf16"))
        self.assertFalse(agree(sums, sums + sums, "bf16"))

    def test_a_prediction_is_compared_with_all_kernels_of_its_launch(self):
        row = {"activity": "kernels", "specialisation": "f:2#0", "calls": 3}
        rows = [{**row, "launch": 0, "predicted_seconds": 3.0, "seconds_of_least": 1.0},
                {**row, "launch": 0, "predicted_seconds": 3.0, "seconds_of_least": 1.5},
                {**row, "launch": 1, "predicted_seconds": 4.0, "seconds_of_least": 5.0},
                {**row, "launch": 0, "specialisation": "", "predicted_seconds": 9.0, "seconds_of_least": 9.0}]
        self.assertEqual(prediction_of({"rows": rows}), {"predicted": 7.0, "measured": 7.5})
        rows[2]["predicted_seconds"] = None
        self.assertEqual(prediction_of({"rows": rows}), {"predicted": None, "measured": 7.5})

    def test_a_case_without_a_prediction_is_not_within_30_percent(self):
        records = [{"prediction": {"predicted": predicted, "measured": 1.0}} for predicted in (1.25, 0.8, 1.4, 0.7, None)]
        self.assertEqual([is_within(r) for r in records], [True, True, False, False, False])
        self.assertEqual(share_within(records), 0.4)
        self.assertEqual(share_within([{"prediction": {"predicted": 1e-6, "measured": 1e-6}}, {}]), 0.0)  # short

    def test_a_script_makes_each_input_once(self):
        for case in draw(1, 150, "cpu"):
            for i in range(len(case.inputs)):
                self.assertEqual(script(case).count(f"let x{i} = "), 1, case.name)


if __name__ == "__main__":
    unittest.main()
