"""The Python package with NumPy: arrays of every dtype and layout, both ways. tools/check --long packages."""
import unittest

import numpy
import tsl


class Arrays(unittest.TestCase):
    def setUp(self):
        self.engine = tsl.Engine()
        self.engine.run("fn same(x) = x")

    def test_arrays_of_every_dtype_and_layout_come_back_equal(self):
        for dtype in (bool, "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8"):
            base = (numpy.arange(24).reshape(2, 3, 4) % 7).astype(dtype)
            for source in (base, base.T, base[:, ::2], base[::-1], base[0, 0, 0:0], base[1, 2, 3], base[:, :1]):
                result = numpy.asarray(self.engine.call("same", source))
                self.assertEqual((result.dtype, result.shape), (source.dtype, source.shape))
                numpy.testing.assert_array_equal(result, source)
                numpy.testing.assert_array_equal(numpy.asarray(self.engine.wrap(source)), source)

    def test_results_share_memory_both_ways(self):
        source = numpy.ones((3, 4), "f4")
        wrapped = self.engine.wrap(source)
        for result in (wrapped.numpy(), numpy.from_dlpack(wrapped), numpy.asarray(wrapped.view())):
            self.assertTrue(numpy.shares_memory(result, source))
            self.assertFalse(result.flags.writeable)
        copied = numpy.asarray(self.engine.tensor(source))
        self.assertFalse(numpy.shares_memory(copied, source))

    def test_a_result_outlives_its_tensor_and_its_engine(self):
        engine = tsl.Engine()
        result = numpy.from_dlpack(engine.run("arange(1000)"))
        engine.close()
        del engine
        numpy.testing.assert_array_equal(result, numpy.arange(1000))

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
