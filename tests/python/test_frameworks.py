"""Arrays of pandas, JAX and PyTorch on the CPU, in and out. What is not installed is skipped, and says so. (Of GPUs: test_torch.py.)"""
import importlib
import sys
import unittest

import tsl


def needs(*names):
    """Skips tests where a package is not installed, and gives them the packages otherwise."""
    def decorate(test):
        def run(self):
            try:
                packages = [importlib.import_module(name) for name in names]
            except ImportError as missing:
                self.skipTest(f"{missing.name} is not installed")
            test(self, *packages)
        run.__name__ = test.__name__
        return run
    return decorate


class Frameworks(unittest.TestCase):
    def setUp(self):
        self.engine = tsl.Engine()
        self.same = self.engine.run("fn(x) = x")

    @needs("numpy", "pandas")
    def test_columns_and_frames_of_pandas_are_tensors(self, numpy, pandas):
        frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
        self.assertEqual(self.same(frame["a"]).tolist(), [1.0, 2.0])
        self.assertEqual((self.same(frame).shape, self.same(frame).tolist()), ((2, 2), [[1.0, 3.0], [2.0, 4.0]]))
        self.assertEqual(self.same(pandas.Series([1, 2], dtype="i4")).dtype, "i32")
        self.assertEqual(self.same(pandas.Series([True, False])).tolist(), [True, False])
        self.assertEqual(self.same(frame.index).tolist(), [0, 1])
        self.assertEqual(pandas.Series(self.same(frame["b"]).numpy()).sum(), 7.0)
        for refused in (pandas.Series(["a", "b"]), pandas.Series(pandas.to_datetime(["2026-11-29"])), pandas.DataFrame({"a": [1], "b": ["x"]})):
            with self.assertRaisesRegex(TypeError, "TSL has no dtype like .* convert the array first"):
                self.same(refused)

    @needs("numpy")
    def test_what_tsl_has_no_dtype_for_is_refused_in_words_of_numpy(self, numpy):
        for refused, said in ((numpy.array(["2026-11-29"], "datetime64[D]"), r"datetime64\[D\]"), (numpy.zeros(2, ">f4"), ">f4"),
                              (numpy.zeros(2, ">c16"), ">c16"), (numpy.zeros(2, "U3"), "<U3"), (numpy.array([None]), "object"),
                              (numpy.zeros(2, "timedelta64[s]"), r"timedelta64\[s\]"), (numpy.zeros(2, "f4,i4"), r"f0")):
            for take in (self.same, self.engine.tensor, self.engine.wrap):
                with self.assertRaisesRegex(TypeError, f"TSL has no dtype like .*{said}.*convert the array first"):
                    take(refused)
        self.assertEqual(self.same(numpy.zeros(2, ">f4").astype("f4")).dtype, "f32")

    @needs("numpy", "jax")
    def test_arrays_of_jax_go_and_come_without_a_copy(self, numpy, jax):
        for dtype in ("bool_", "uint8", "int8", "int16", "int32", "uint16", "uint32", "float16", "bfloat16", "float32", "complex64"):
            source = (jax.numpy.arange(6).reshape(2, 3) % 2).astype(getattr(jax.numpy, dtype))
            wrapped = self.engine.wrap(source)
            self.assertEqual((wrapped.shape, self.same(source).tolist()), ((2, 3), source.tolist()), dtype)
            back = jax.numpy.from_dlpack(wrapped)
            self.assertEqual((back.dtype, back.tolist()), (source.dtype, source.tolist()))
        source = jax.numpy.ones(1000)
        self.assertEqual(self.engine.wrap(source).__array_interface__["data"][0], source.unsafe_buffer_pointer())
        self.assertEqual(self.same(jax.numpy.float32(2.5)).item(), 2.5)
        del source
        self.assertEqual(self.engine.run("1"), 1)

    @needs("torch")
    def test_tensors_of_pytorch_go_and_come_without_a_copy(self, torch):
        for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
                      torch.float64, torch.complex64, torch.complex128):
            base = (torch.arange(24).reshape(2, 3, 4) % 2).to(dtype)
            for source in (base, base.transpose(0, 2), base[:, ::2], base[0, 0, 0:0], base[1, 2, 3]):
                self.assertTrue(torch.equal(torch.from_dlpack(self.engine.wrap(source)), source))
                self.assertTrue(torch.equal(torch.from_dlpack(self.same(source)), source))
        source = torch.ones(1000)
        self.assertEqual(self.engine.wrap(source).__array_interface__["data"][0], source.data_ptr())
        with self.assertRaises(TypeError):
            self.same(torch.ones(2, requires_grad=True))


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    sys.exit(77 if result.testsRun == len(result.skipped) else not result.wasSuccessful())
