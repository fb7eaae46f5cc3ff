"""The Python package with PyTorch on a GPU: tensors both ways, without a copy, on streams of their own. tools/check --gpu."""
import gc
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("there is no PyTorch") from None
if not torch.cuda.is_available():
    raise unittest.SkipTest("PyTorch finds no GPU")

import tsl

DTYPES = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
          torch.float32, torch.float64)


class Tensors(unittest.TestCase):
    def setUp(self):
        self.engine = tsl.Engine(("compile", "gpu"), device="cuda")
        self.engine.run("@compile fn twice(x) = x + x\nfn same(x) = x")

    def test_tensors_of_every_dtype_and_layout_come_back_equal(self):
        for dtype in DTYPES:
            base = (torch.arange(24, device="cuda").reshape(2, 3, 4) % 7).to(dtype)
            for source in (base, base.transpose(0, 2), base[:, ::2], base[0, 0, 0:0], base[1, 2, 3], base[:, :1]):
                result = torch.from_dlpack(self.engine.wrap(source))
                self.assertEqual((result.dtype, result.shape, result.device), (source.dtype, source.shape, source.device))
                self.assertTrue(torch.equal(result, source))
                self.assertTrue(torch.equal(torch.from_dlpack(self.engine.call("same", source)), source))

    def test_memory_is_shared_both_ways(self):
        source = torch.ones(3, 4, device="cuda")
        wrapped = self.engine.wrap(source)
        self.assertEqual(torch.from_dlpack(wrapped).data_ptr(), source.data_ptr())
        result = torch.from_dlpack(self.engine.call("twice", wrapped))
        self.assertEqual(result.device, source.device)
        self.assertTrue(torch.equal(result, 2 * source))

    def test_a_stream_of_pytorch_is_waited_for_both_ways(self):
        size, rounds = 4096, 20
        factor = torch.eye(size, device="cuda")
        torch.cuda.synchronize()
        for stream in (torch.cuda.Stream(), torch.cuda.Stream(priority=-1)):
            with torch.cuda.stream(stream):
                for i in range(rounds):
                    x = torch.zeros(size, size, device="cuda")
                    for _ in range(4):  # some milliseconds, during which the host goes on
                        x = x @ factor
                    x += i + 1
                    doubled = torch.from_dlpack(self.engine.call("twice", self.engine.wrap(x)))
                    doubled += 1  # on PyTorch's stream, which waited for TSL's
                    self.assertEqual((doubled.min().item(), doubled.max().item()), (2 * i + 3, 2 * i + 3))

    def test_a_result_outlives_its_engine_and_a_source_is_released(self):
        before = torch.cuda.memory_allocated()
        source = torch.full((1 << 20,), 3.0, device="cuda")
        result = torch.from_dlpack(self.engine.call("twice", self.engine.wrap(source)))
        self.engine.close()
        del source
        gc.collect()
        self.assertTrue(torch.equal(result, torch.full((1 << 20,), 6.0, device="cuda")))
        del result
        gc.collect()
        self.assertEqual(torch.cuda.memory_allocated(), before)

    def test_a_tensor_of_the_host_is_moved(self):
        result = torch.from_dlpack(self.engine.call("twice", torch.arange(5)))
        self.assertEqual(result.tolist(), [0, 2, 4, 6, 8])


if __name__ == "__main__":
    unittest.main()
