"""The Python package with NumPy: arrays of every dtype and layout, both ways."""
import contextlib
import io
import random
import sys
import tempfile
import unittest

import tsl

try:
    import numpy
except ImportError:
    print("skipped: NumPy is not installed for this python3")
    sys.exit(77)
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None
    print("skipped: arrays of bf16: ml_dtypes is not installed")


class Arrays(unittest.TestCase):
    def setUp(self):
        self.engine = tsl.Engine()
        self.engine.run("fn same(x) = x")

    def test_arrays_of_every_dtype_and_layout_come_back_equal(self):
        for dtype in (bool, "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"):
            base = (numpy.arange(24).reshape(2, 3, 4) % 7).astype(dtype)
            for source in (base, base.T, base[:, ::2], base[::-1], base[0, 0, 0:0], base[1, 2, 3], base[:, :1]):
                result = numpy.asarray(self.engine.call("same", source))
                self.assertEqual((result.dtype, result.shape), (source.dtype, source.shape))
                numpy.testing.assert_array_equal(result, source)
                numpy.testing.assert_array_equal(numpy.asarray(self.engine.wrap(source)), source)

    def test_complex_arrays_share_their_memory_both_ways(self):
        self.engine.run("fn rows(z) = z[::2]\nfn square(z) = z * z\nfn parts(z: c64[n, 2]) = (z.re, z.im, z.dtype == c64)")
        base = (numpy.arange(8) + 1j * numpy.arange(8)[::-1]).astype("c8").reshape(4, 2)
        for source in (base, base.T, base[:, 1:], base[:0]):
            wrapped = self.engine.wrap(source)
            self.assertEqual((wrapped.dtype, wrapped.shape), ("c64", source.shape))
            result = numpy.asarray(wrapped)
            self.assertEqual(result.ctypes.data, source.ctypes.data if source.size else result.ctypes.data)
            numpy.testing.assert_array_equal(result, source)
            numpy.testing.assert_array_equal(numpy.from_dlpack(wrapped), source)
        wrapped = self.engine.wrap(base)
        rows = numpy.asarray(self.engine.call("rows", wrapped))
        self.assertEqual((rows.ctypes.data, rows.strides), (base.ctypes.data, (32, 8)))
        squares = self.engine.call("square", wrapped)
        numpy.testing.assert_array_equal(numpy.asarray(squares), base * base)
        self.assertEqual(numpy.asarray(squares).ctypes.data, numpy.asarray(squares).ctypes.data)
        re, im, is_c64 = self.engine.call("parts", base)
        numpy.testing.assert_array_equal([re.numpy(), im.numpy()], [base.real, base.imag])
        self.assertTrue(is_c64)
        self.assertEqual(squares.tolist(), (base * base).tolist())
        self.assertEqual(squares.tobytes(), (base * base).tobytes())
        with self.assertRaises(TypeError):
            squares.view()

    def test_complex_memory_outlives_its_engine(self):
        for text in ("c64([1i, 2.0 + 3i])", "c64([1i, 2.0 + 3i]) * 1.0", "fft([1.0, 2.0])"):
            engine = tsl.Engine()
            expected = numpy.asarray(engine.run(text)).copy()
            array = engine.run(text).numpy()
            engine.close()
            numpy.testing.assert_array_equal(array, expected)

    def test_a_complex_file_is_computed_with_and_given_to_numpy(self):
        values = (numpy.arange(9) ** 2 + 1j * (numpy.arange(9) % 4 + 1)).reshape(3, 3) + 5 * numpy.eye(3)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/z.npy"
            for dtype, tolerance in (("c8", 1e-4), ("c16", 1e-10)):
                z = values.astype(dtype)
                numpy.save(path, z)
                engine = tsl.Engine(("files", "compile"))
                results = engine.run(f"""
                    let z = load("{path}")
                    let gradient = grad(fn(z) = sum(abs(z @ z) ** 2))(z)
                    let spectrum = fft(z)
                    save("{folder}/spectrum.npy", spectrum)
                    (z, z @ z, solve(z, z[0]), spectrum, gradient)""")
                product = z @ z
                wanted = (z, product, numpy.linalg.solve(z, z[0]), numpy.fft.fft(z),
                          2 * (product @ z.conj().T + z.conj().T @ product))
                for result, expected in zip(results, wanted):
                    self.assertEqual(result.dtype, "c64" if dtype == "c8" else "c128")
                    array = numpy.asarray(result)
                    self.assertEqual(array.dtype, dtype)
                    numpy.testing.assert_allclose(array, expected, rtol=tolerance)
                for shared in (results[0], results[3]):  # views of one buffer, which are given as they are
                    self.assertEqual(shared.numpy().ctypes.data, engine.call("real", shared).numpy().ctypes.data)
                numpy.testing.assert_array_equal(numpy.load(f"{folder}/spectrum.npy"), results[3].numpy())

    def test_drawn_views_are_what_their_copies_are(self):
        seed = random.randrange(1 << 32)
        draw = random.Random(seed)
        for turn in range(1000):
            dtype = draw.choice(("?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"))
            shape = [draw.choice((0, 1, 1, 2, 3, 5)) for _ in range(draw.choice((1, 1, 2, 2, 3, 4)))]
            base = (numpy.arange(numpy.prod([3 * size + 1 for size in shape])) % 50).astype(dtype)
            base = base.reshape([3 * size + 1 for size in shape])
            view = base[tuple(draw.choice((slice(0, size), slice(size, 0, -1), slice(0, 3 * size, 3), slice(2, 2 + size)))
                              if size else slice(0, 0) for size in shape)]
            match draw.randrange(4):
                case 0: view = view.transpose(draw.sample(range(len(shape)), len(shape)))
                case 1: view = numpy.broadcast_to(view[..., :1], [2, *view[..., :1].shape])
                case 2: view = view[..., ::-1]
            with self.subTest(seed=seed, turn=turn, dtype=dtype, shape=view.shape, strides=view.strides):
                numpy.testing.assert_array_equal(numpy.asarray(self.engine.call("same", view)), view.copy())

    def test_broadcast_arrays_are_arguments_wrapped_and_returned(self):
        self.engine.define("returned()", lambda: source)
        for element in (0.25, numpy.float32(3), True, numpy.int16(-7)):
            for shape in ((), (4,), (2, 3), (1, 5), (3, 0)):
                source = numpy.broadcast_to(element, shape)
                for result in (self.engine.call("same", source), self.engine.wrap(source), self.engine.run("returned()")):
                    numpy.testing.assert_array_equal(numpy.asarray(result), source)
        rows = numpy.broadcast_to(numpy.arange(3.0), (4, 3))
        windows = numpy.lib.stride_tricks.sliding_window_view(numpy.arange(6), 3)
        for source in (rows, rows.T, windows, windows[::2]):
            numpy.testing.assert_array_equal(numpy.asarray(self.engine.call("same", source)), source)
            numpy.testing.assert_array_equal(numpy.asarray(self.engine.wrap(source)), source)
        large = self.engine.wrap(numpy.broadcast_to(1.0, (200_000_000,)))
        self.assertEqual(self.engine.call("sum", large).item(), 2e8)

    def test_arrays_and_tensors_are_computed_together(self):
        t = self.engine.run("reshape(arange(6), [2, 3]) + 0.0")
        rows = numpy.ones((2, 3), "f4")
        for value in (t + rows, rows + t):
            self.assertEqual((type(value), value.tolist()), (tsl.Tensor, [[1, 2, 3], [4, 5, 6]]))
        self.assertEqual((t[numpy.array([1])].tolist(), t[numpy.int64(0), 1].item(), (t * numpy.float32(2))[0, 1].item()), ([[3, 4, 5]], 1.0, 2.0))
        self.assertEqual(numpy.sin(t).shape, (2, 3))

    def test_objects_that_give_an_array_are_taken(self):
        class Series:  # as those of pandas, without a buffer
            def __array__(self, dtype=None, copy=None):
                return numpy.arange(3.0)

        self.assertEqual(self.engine.call("sum", Series()).item(), 3.0)
        self.assertEqual(self.engine.tensor(Series()).tolist(), [0, 1, 2])

    def test_arrays_that_tsl_does_not_have_are_type_errors(self):
        for source in (numpy.arange(3, dtype=">u2"), numpy.arange(3, dtype=">f4"), numpy.zeros(2, ">c8"),
                       numpy.array(["a"]), numpy.array([object()]), numpy.zeros(2, "M8[s]"), numpy.zeros(2, "i4,f4")):
            for call in (self.engine.tensor, self.engine.wrap, lambda x: self.engine.call("same", x)):
                with self.assertRaises(TypeError) as caught:
                    call(source)
                self.assertNotIn("attribute", str(caught.exception))

    @unittest.skipUnless(ml_dtypes, "ml_dtypes is not installed")
    def test_bf16_is_an_array_of_ml_dtypes_both_ways(self):
        tensor = self.engine.run("bf16([[1.0, 2.5, -3.0], [0.0, 4.0, 5.0]])")
        for tensor in (tensor, self.engine.run("bf16([[1.0, 2.5, -3.0], [0.0, 4.0, 5.0]]).transpose(0, 1)")):
            array = numpy.asarray(tensor)
            self.assertEqual((array.dtype, array.shape, array.tolist()), (ml_dtypes.bfloat16, tensor.shape, tensor.tolist()))
            self.assertFalse(array.flags.writeable)
            self.assertEqual(numpy.asarray(tensor, "f4").tolist(), tensor.tolist())
            for again in (self.engine.call("same", array), self.engine.wrap(array)):
                self.assertEqual((again.dtype, again.tolist()), ("bf16", tensor.tolist()))

    def test_bf16_without_ml_dtypes_is_an_error_that_helps(self):
        found = sys.modules.get("ml_dtypes")
        sys.modules["ml_dtypes"] = None  # as if it were not installed
        try:
            with self.assertRaises(TypeError) as caught:
                numpy.asarray(self.engine.run("bf16([1.0])"))
            self.assertIn("f32(x)", str(caught.exception))
        finally:
            del sys.modules["ml_dtypes"]
            if found:
                sys.modules["ml_dtypes"] = found

    def test_an_error_of_a_dlpack_consumer_is_the_only_one(self):
        ignored = []
        hook, sys.unraisablehook = sys.unraisablehook, ignored.append
        try:
            with self.assertRaises(Exception) as caught, contextlib.redirect_stderr(io.StringIO()):
                numpy.from_dlpack(self.engine.run("bf16([1.0])"))
        finally:
            sys.unraisablehook = hook
        self.assertEqual(ignored, [])
        self.assertIn("dtype", str(caught.exception))

    def test_results_share_memory_both_ways(self):
        source = numpy.ones((3, 4), "f4")
        wrapped = self.engine.wrap(source)
        for result in (wrapped.numpy(), numpy.from_dlpack(wrapped), numpy.asarray(wrapped.view())):
            self.assertTrue(numpy.shares_memory(result, source))
            self.assertFalse(result.flags.writeable)
        copied = numpy.asarray(self.engine.tensor(source))
        self.assertFalse(numpy.shares_memory(copied, source))

    def test_a_result_outlives_its_tensor_and_its_engine(self):
        for make in (numpy.from_dlpack, numpy.asarray, tsl.Tensor.numpy, lambda tensor: numpy.asarray(tensor.view()), numpy.array):
            for source, expected in (("arange(60000)", numpy.arange(60000)), ("arange(60000)[::-1]", numpy.arange(60000)[::-1]),
                                     ("reshape(arange(60000), [2, 30000]).T", numpy.arange(60000).reshape([2, 30000]).T)):
                engine = tsl.Engine()
                result = make(engine.run(source))
                engine.close()
                del engine
                others = [numpy.full(60000, -1) for _ in range(10)]
                numpy.testing.assert_array_equal(result, expected)
                del others

    def test_a_native_function_gets_and_returns_arrays(self):
        self.engine.define("sines(x: f64[n])", lambda x: numpy.sin(numpy.asarray(x)))
        result = self.engine.call("sines", numpy.linspace(0, 1, 5))
        numpy.testing.assert_allclose(numpy.asarray(result), numpy.sin(numpy.linspace(0, 1, 5)), rtol=0, atol=0)

    def test_products_are_those_of_numpy(self):
        a, b = numpy.random.default_rng(1).normal(size=(2, 40, 40))
        self.engine.run("@compile fn product(a: f64[n, m], b: f64[m, k]) = matmul(a, b)")
        numpy.testing.assert_allclose(numpy.asarray(self.engine.call("product", a, b)), a @ b, rtol=1e-12)


if __name__ == "__main__":
    unittest.main()
