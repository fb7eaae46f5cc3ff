#!/usr/bin/env python3
"""Times one row of rows.tsl in PyTorch: prints a line of JSON with seconds and bytes.

    torch_side.py cpu|cuda THREADS MODE ROW...     MODE: eager, compile or reduce-overhead
"""

import json
import sys
import time

import torch
import torch.nn.functional as F

import torch_models as models

SECONDS, FEWEST = 2.0, 6
SIZES = {"cpu": {"train_size": 112, "batch": 4, "text_batch": 1}, "cuda": {"train_size": 224, "batch": 5, "text_batch": 8}}


def randint(limit, *shape, device):
    return torch.randint(0, limit, shape, device=device)


def class_loss(model):
    return lambda x, labels: F.cross_entropy(model(x).flatten(0, -2), labels.flatten())


def unet_loss(model):
    return lambda x, times, noise: F.mse_loss(model(x, times), noise)


class Row:
    """What a row computes: the model, a function of the inputs, and these."""

    def __init__(self, name, device):
        self.device, self.sizes, self.dtype = device, SIZES[device], torch.float32
        self.name, task = name.rsplit(".", 1)
        self.training = task == "training"
        torch.manual_seed(1)
        self.optimizer = lambda p: torch.optim.Adam(p, 1e-3, fused=True)
        getattr(self, self.name if hasattr(self, self.name) else self.name.split("_")[0])()

    def use(self, model, loss, inputs, of_images=False):
        self.model = model.to(self.device, self.dtype).train(self.training)
        if of_images:
            self.model = self.model.to(memory_format=torch.channels_last)
            inputs = [x.to(memory_format=torch.channels_last) if x.ndim == 4 else x for x in inputs]
        self.function = loss(self.model) if self.training else self.model
        self.inputs = inputs

    def of_images(self, model, train_size=None, channels_last=True):
        size = train_size or self.sizes["train_size"] if self.training else 224
        b = self.sizes["batch"] if self.training else 1
        x = torch.randn(b, 3, size, size, device=self.device)
        self.optimizer = lambda p: torch.optim.SGD(p, 0.01, momentum=0.9, fused=True)
        self.use(model, class_loss, [x, randint(1000, b, device=self.device)][:1 + self.training], channels_last)

    def of_tokens(self, model, vocabulary, loss=class_loss, shape=None):
        shape = shape or (self.sizes["text_batch"] if self.training else 1, 128)
        self.use(model, loss, [randint(vocabulary, *shape, device=self.device) for _ in range(1 + self.training)])

    def resnet18(self):
        self.of_images(models.resnet18(self.training))

    def mobilenet_v2(self):
        self.of_images(models.mobilenet_v2(self.training))

    def densenet121(self):
        self.of_images(models.densenet121(self.training))

    def vit_tiny(self):
        self.of_images(models.Vit(), 224, channels_last=False)

    def unet(self):
        b = self.sizes["batch"] if self.training else 1
        x, noise = (torch.randn(b, 3, 32, 32, device=self.device) for _ in range(2))
        self.use(models.Unet(), unet_loss, [x, randint(1000, b, device=self.device), noise][:2 + self.training])

    def lstm(self):
        self.of_tokens(models.Lstm(), 128, shape=(32, 16))

    def bert(self):
        self.of_tokens(models.Bert(), 30522, lambda model: model.loss)

    def llama(self):
        self.of_tokens(models.Llama(), 8192)

    def gpt2(self):
        if self.device == "cuda":
            self.dtype = torch.bfloat16
        model = models.Gpt2()
        if self.name != "gpt2":
            self.of_tokens(model, 50257, shape=[int(n) for n in self.name.split("_")[1].split("x")])
        else:
            self.of_tokens(model, 50257)

    def vae(self):
        self.use(models.Vae(), lambda model: model.loss, [torch.rand(128, 784, device=self.device)])

    def neural_ode(self):
        shapes = (20, 2), (20, 20, 2)
        self.use(models.NeuralOde(), lambda model: model.loss, [torch.randn(s, device=self.device) for s in shapes])

    def pinn(self):
        t, x, t0, x0, u0 = (torch.rand(n, device=self.device) for n in (1000, 1000, 200, 200, 200))
        self.use(models.Pinn(), lambda model: model.loss, [t, 2 * x - 1, t0, 2 * x0 - 1, u0])


def decoder(device, mode):
    """Greedy decoding with a static cache, as gpt-fast does it."""
    model, room = models.Gpt2(), 256
    model.make_cache(room)
    model.eval().to(device, torch.bfloat16 if device == "cuda" else torch.float32)
    next_token = torch.compile(model.next_token, mode=mode, dynamic=False) if mode else model.next_token
    positions = torch.arange(room, device=device).split(1)
    state = {"token": torch.zeros(1, dtype=torch.long, device=device), "position": 0}

    @torch.no_grad()
    def call():
        state["token"] = next_token(state["token"], positions[state["position"]]).clone()
        state["position"] = (state["position"] + 1) % room

    return call


def prepare(name, device, mode):
    if name == "gpt2.decoding":
        return decoder(device, mode)
    row = Row(name, device)
    function = torch.compile(row.function, mode=mode, dynamic=False) if mode else row.function
    if not row.training:
        def call():
            with torch.no_grad():
                return function(*row.inputs)
        return call
    optimizer = row.optimizer(row.model.parameters())

    def step():
        optimizer.zero_grad()
        loss = function(*row.inputs)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def seconds_a_call(call, device):
    """Returns the first call's seconds, and the median of the others; on a GPU of sequences of calls."""
    begin = time.perf_counter()
    call()
    wait(device)
    first = time.perf_counter() - begin
    for _ in range(3):
        call()
    wait(device)
    times, end, repeat = [], time.perf_counter() + (SECONDS if device == "cpu" else 0.3), 1 if device == "cpu" else 10
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(repeat):
            call()
        wait(device)
        times.append((time.perf_counter() - begin) / repeat)
    return first, sorted(times)[len(times) // 2]


def measure(name, device, mode):
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    torch.compiler.reset()
    try:
        first, median = seconds_a_call(prepare(name, device, None if mode == "eager" else mode), device)
    except Exception as error:  # whatever a compiler raises is this mode's result
        return {"row": name, "mode": mode, "error": f"{type(error).__name__}: {error}"[:300]}
    found = {"row": name, "mode": mode, "first": first, "seconds": median}
    return {**found, "peak": torch.cuda.max_memory_allocated()} if device == "cuda" else found


def main():
    device, threads, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    for name in sys.argv[4:]:
        print(json.dumps(measure(name, device, "default" if mode == "compile" else mode)), flush=True)


if __name__ == "__main__":
    main()
