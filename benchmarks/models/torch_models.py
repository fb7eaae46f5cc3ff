"""The models of rows.tsl in PyTorch: the same shapes, with random weights."""

import math

import torch
import torch.nn.functional as F
from torch import nn

HEAD_WIDTH = 64


def norm(channels, training):
    """Returns a batch norm; while training without running statistics, as TSL's."""
    return nn.BatchNorm2d(channels, track_running_stats=not training)


def conv_norm(inputs, outputs, size, training, stride=1, groups=1, activation=None):
    layers = [nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False), norm(outputs, training)]
    return nn.Sequential(*layers, *([activation()] if activation else []))


# ---- Networks of images -----------------------------------------------------------------------------------------


class ResidualBlock(nn.Module):
    def __init__(self, inputs, outputs, stride, training):
        super().__init__()
        self.first = conv_norm(inputs, outputs, 3, training, stride, activation=nn.ReLU)
        self.second = conv_norm(outputs, outputs, 3, training)
        self.shortcut = conv_norm(inputs, outputs, 1, training, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.second(self.first(x)) + self.shortcut(x))


def resnet18(training):
    layers, channels = [conv_norm(3, 64, 7, training, 2, activation=nn.ReLU), nn.MaxPool2d(3, 2, 1)], 64
    for i, outputs in enumerate((64, 128, 256, 512)):
        layers += [ResidualBlock(channels, outputs, 1 if i == 0 else 2, training),
                   ResidualBlock(outputs, outputs, 1, training)]
        channels = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion, training):
        super().__init__()
        wide = inputs * expansion
        expand = [conv_norm(inputs, wide, 1, training, activation=nn.ReLU6)] if expansion > 1 else []
        self.layers = nn.Sequential(*expand, conv_norm(wide, wide, 3, training, stride, wide, nn.ReLU6),
                                    conv_norm(wide, outputs, 1, training))
        self.has_shortcut = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.layers(x) if self.has_shortcut else self.layers(x)


def mobilenet_v2(training):
    table = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    layers, channels = [conv_norm(3, 32, 3, training, 2, activation=nn.ReLU6)], 32
    for expansion, outputs, count, stride in table:
        for i in range(count):
            layers.append(InvertedResidual(channels, outputs, stride if i == 0 else 1, expansion, training))
            channels = outputs
    return nn.Sequential(*layers, conv_norm(320, 1280, 1, training, activation=nn.ReLU6), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(1280, 1000))


class DenseLayer(nn.Module):
    def __init__(self, channels, growth, training):
        super().__init__()
        self.layers = nn.Sequential(norm(channels, training), nn.ReLU(), nn.Conv2d(channels, 4 * growth, 1, bias=False),
                                    norm(4 * growth, training), nn.ReLU(),
                                    nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False))

    def forward(self, x):
        return torch.cat([x, self.layers(x)], 1)


def densenet121(training, growth=32):
    layers, channels = [conv_norm(3, 64, 7, training, 2, activation=nn.ReLU), nn.MaxPool2d(3, 2, 1)], 64
    for i, depth in enumerate((6, 12, 24, 16)):
        if i > 0:
            layers += [norm(channels, training), nn.ReLU(), nn.Conv2d(channels, channels // 2, 1, bias=False),
                       nn.AvgPool2d(2)]
            channels //= 2
        layers += [DenseLayer(channels + j * growth, growth, training) for j in range(depth)]
        channels += depth * growth
    return nn.Sequential(*layers, norm(channels, training), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(channels, 1000))


class UnetResidual(nn.Module):
    def __init__(self, inputs, outputs, wide):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(8, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.time = nn.Linear(wide, outputs)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, bias=False) if inputs != outputs else nn.Identity()

    def forward(self, x, time):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(time)[..., None, None]
        return self.conv2(F.silu(self.norm2(h))) + self.shortcut(x)


class UnetAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.qkv, self.out = nn.GroupNorm(8, d), nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        pixels = self.norm(x).flatten(2).transpose(1, 2)
        q, k, v = (t.unsqueeze(1) for t in self.qkv(pixels).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.squeeze(1)).transpose(1, 2).reshape(x.shape)


class Unet(nn.Module):
    def __init__(self, features=(32, 64, 128)):
        super().__init__()
        wide, self.d = 4 * features[0], features[0]
        self.time = nn.Sequential(nn.Linear(self.d, wide), nn.SiLU(), nn.Linear(wide, wide), nn.SiLU())
        self.first = nn.Conv2d(3, features[0], 3, padding=1)
        self.down, self.halves, self.up, self.doubles = (nn.ModuleList() for _ in range(4))
        inputs = features[0]
        for i, n in enumerate(features):
            self.halves.append(nn.Conv2d(inputs, inputs, 3, 2, 1) if i > 0 else nn.Identity())
            self.down.append(UnetResidual(inputs, n, wide))
            inputs = n
        self.middle1, self.mixed, self.middle2 = UnetResidual(inputs, inputs, wide), UnetAttention(inputs), UnetResidual(
            inputs, inputs, wide)
        for i, n in reversed(list(enumerate(features))):
            self.up.append(UnetResidual(inputs + n, n, wide))
            self.doubles.append(nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(n, n, 3, padding=1)) if i > 0
                               else nn.Identity())
            inputs = n
        self.last = nn.Sequential(nn.GroupNorm(8, features[0]), nn.SiLU(), nn.Conv2d(features[0], 3, 3, padding=1))

    def forward(self, x, times):
        rates = torch.exp(torch.arange(self.d // 2, device=x.device) * (-math.log(10000.0) / (self.d // 2)))
        angles = times[:, None] * rates
        time = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        y, skips = self.first(x), []
        for half, block in zip(self.halves, self.down):
            y = block(half(y), time)
            skips.append(y)
        y = self.middle2(self.mixed(self.middle1(y, time)), time)
        for block, double in zip(self.up, self.doubles):
            y = double(block(torch.cat([y, skips.pop()], 1), time))
        return self.last(y)


# ---- Networks of sequences --------------------------------------------------------------------------------------


class Lstm(nn.Module):
    def __init__(self, characters=128, d=256):
        super().__init__()
        self.table, self.lstm, self.out = nn.Embedding(characters, d), nn.LSTM(d, d), nn.Linear(d, characters)

    def forward(self, tokens):
        return self.out(self.lstm(self.table(tokens))[0])


def heads_of(x):
    return x.unflatten(-1, (-1, HEAD_WIDTH)).transpose(-3, -2)


class Layer(nn.Module):
    """A layer of a transformer, whose norms are first or last."""

    def __init__(self, d, activation, norm_first, causal=False):
        super().__init__()
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.wide, self.narrow = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.activation, self.norm_first, self.causal = activation, norm_first, causal

    def mixed(self, x):
        q, k, v = map(heads_of, self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(-3, -2).flatten(-2))

    def fed(self, x):
        return self.narrow(self.activation(self.wide(x)))

    def forward(self, x):
        if self.norm_first:
            x = x + self.mixed(self.norm1(x))
            return x + self.fed(self.norm2(x))
        x = self.norm1(x + self.mixed(x))
        return self.norm2(x + self.fed(x))


class Vit(nn.Module):
    def __init__(self, d=192, layers=12):
        super().__init__()
        self.patch = nn.Conv2d(3, d, 16, 16)
        self.token, self.positions = nn.Parameter(torch.zeros(1, 1, d)), nn.Parameter(torch.randn(197, d) * 0.02)
        self.layers = nn.Sequential(*(Layer(d, F.gelu, True) for _ in range(layers)))
        self.norm, self.out = nn.LayerNorm(d), nn.Linear(d, 1000)

    def forward(self, x):
        tokens = self.patch(x).flatten(2).transpose(1, 2)
        y = torch.cat([self.token.expand(x.shape[0], -1, -1), tokens], 1) + self.positions
        return self.out(self.norm(self.layers(y)[:, 0]))


class Bert(nn.Module):
    def __init__(self, vocabulary=30522, d=512, layers=4):
        super().__init__()
        self.table, self.positions, self.segments = (nn.Embedding(n, d) for n in (vocabulary, 512, 2))
        self.norm, self.head_norm, self.head = nn.LayerNorm(d), nn.LayerNorm(d), nn.Linear(d, d)
        self.layers = nn.Sequential(*(Layer(d, F.gelu, False) for _ in range(layers)))
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, tokens):
        return self.layers(self.norm(self.table(tokens) + self.positions.weight[:tokens.shape[1]] +
                                     self.segments.weight[0]))

    def loss(self, tokens, labels):
        h = self.head_norm(F.gelu(self.head(self(tokens))))
        return F.cross_entropy((h @ self.table.weight.T + self.bias).flatten(0, -2), labels.flatten(), ignore_index=-100)


def rotated(x, c, s):
    a, b = x.chunk(2, -1)
    return torch.cat([a * c - b * s, a * s + b * c], -1)


class LlamaLayer(nn.Module):
    def __init__(self, d, groups, hidden):
        super().__init__()
        linear = lambda inputs, outputs: nn.Linear(inputs, outputs, bias=False)
        self.query, self.key, self.value = linear(d, d), linear(d, groups * HEAD_WIDTH), linear(d, groups * HEAD_WIDTH)
        self.out, self.gate, self.up, self.down = linear(d, d), linear(d, hidden), linear(d, hidden), linear(hidden, d)
        self.norm1, self.norm2 = nn.RMSNorm(d, 1e-6), nn.RMSNorm(d, 1e-6)

    def forward(self, x, c, s):
        h = self.norm1(x)
        q, k, v = rotated(heads_of(self.query(h)), c, s), rotated(heads_of(self.key(h)), c, s), heads_of(self.value(h))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).flatten(-2))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self, vocabulary=8192, d=512, layers=4, groups=2, hidden=1408):
        super().__init__()
        self.table, self.norm = nn.Embedding(vocabulary, d), nn.RMSNorm(d, 1e-6)
        self.layers = nn.ModuleList(LlamaLayer(d, groups, hidden) for _ in range(layers))
        self.head = nn.Linear(d, vocabulary, bias=False)

    def forward(self, tokens):
        rates = 10000.0 ** (torch.arange(HEAD_WIDTH // 2, device=tokens.device) * (-2.0 / HEAD_WIDTH))
        angles = torch.arange(tokens.shape[1], device=tokens.device)[:, None] * rates
        c, s, y = angles.cos(), angles.sin(), self.table(tokens)
        for layer in self.layers:
            y = layer(y, c, s)
        return self.head(self.norm(y))


class Gpt2(nn.Module):
    def __init__(self, vocabulary=50257, context=1024, d=768, layers=12):
        super().__init__()
        self.table, self.positions = nn.Embedding(vocabulary, d), nn.Embedding(context, d)
        for table in (self.table, self.positions):
            nn.init.normal_(table.weight, std=0.02)
        gelu = lambda x: F.gelu(x, approximate="tanh")
        self.layers = nn.ModuleList(Layer(d, gelu, True, causal=True) for _ in range(layers))
        self.norm = nn.LayerNorm(d)

    def forward(self, tokens):
        y = self.table(tokens) + self.positions.weight[:tokens.shape[-1]]
        for layer in self.layers:
            y = layer(y)
        return self.norm(y) @ self.table.weight.T

    def make_cache(self, room):
        """Makes static caches of keys and values, as buffers, so that CUDA graphs may write them."""
        heads = self.table.weight.shape[1] // HEAD_WIDTH
        self.register_buffer("places", torch.arange(room))
        self.register_buffer("cache", torch.zeros(2, len(self.layers), heads, room, HEAD_WIDTH))

    def next_token(self, token, position):
        x, seen = self.table(token) + self.positions(position), (self.places <= position)[None, None]
        for i, layer in enumerate(self.layers):
            keys, values = self.cache[0, i], self.cache[1, i]
            q, k, v = (t.view(1, -1, HEAD_WIDTH) for t in layer.qkv(layer.norm1(x)).chunk(3, -1))
            keys.index_copy_(1, position, k.transpose(0, 1))
            values.index_copy_(1, position, v.transpose(0, 1))
            y = F.scaled_dot_product_attention(q.transpose(0, 1)[None], keys[None], values[None], attn_mask=seen)
            x = x + layer.out(y.reshape(1, -1))
            x = x + layer.fed(layer.norm2(x))
        return (self.norm(x) @ self.table.weight.T).argmax(-1)


# ---- Functions --------------------------------------------------------------------------------------------------


class Vae(nn.Module):
    def __init__(self, pixels=784, hidden=400, codes=20):
        super().__init__()
        self.encoder, self.mean, self.variance = nn.Linear(pixels, hidden), nn.Linear(hidden, codes), nn.Linear(hidden,
                                                                                                                codes)
        self.decoder, self.out = nn.Linear(codes, hidden), nn.Linear(hidden, pixels)

    def loss(self, x):
        h = F.relu(self.encoder(x))
        mean, log_variance = self.mean(h), self.variance(h)
        code = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        logits = self.out(F.relu(self.decoder(code)))
        divergence = -0.5 * torch.sum(1 + log_variance - mean.square() - log_variance.exp())
        return (F.binary_cross_entropy_with_logits(logits, x, reduction="sum") + divergence) / x.shape[0]


class NeuralOde(nn.Module):
    def __init__(self, hidden=50):
        super().__init__()
        self.first, self.second = nn.Linear(2, hidden), nn.Linear(hidden, 2)

    def slope(self, y):
        return self.second(torch.tanh(self.first(y ** 3)))

    def loss(self, y, observed, dt=0.05):
        states = []
        for _ in range(observed.shape[0]):
            k1 = self.slope(y)
            k2 = self.slope(y + 0.5 * dt * k1)
            k3 = self.slope(y + 0.5 * dt * k2)
            k4 = self.slope(y + dt * k3)
            y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            states.append(y)
        return (torch.stack(states) - observed).abs().mean()


class Pinn(nn.Module):
    def __init__(self, d=32, layers=4):
        super().__init__()
        widths = [2] + [d] * layers
        self.hidden = nn.ModuleList(nn.Linear(widths[i], d) for i in range(layers))
        self.last = nn.Linear(d, 1)

    def forward(self, t, x):
        h = torch.stack([t, x], 1)
        for layer in self.hidden:
            h = torch.tanh(layer(h))
        return self.last(h)[:, 0]

    def loss(self, t, x, t0, x0, u0):
        t, x = t.detach().requires_grad_(), x.detach().requires_grad_()
        u = self(t, x)
        u_t, u_x = torch.autograd.grad(u.sum(), (t, x), create_graph=True)
        (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
        residual = u_t + u * u_x - 0.01 / math.pi * u_xx
        return residual.square().mean() + (self(t0, x0) - u0).square().mean()
