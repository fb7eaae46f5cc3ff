#include "support/op_matrix.h"

#include <fmt/format.h>

namespace tsl {

namespace {

std::string returned(const std::string& expression) { return "return " + expression; }

void add_elementwise(std::vector<MatrixCase>& cases) {
  for (const OpDef& def : op_table()) {
    if (def.traits.operands != OperandRule::promoted) continue;
    const std::string name(def.name);
    if (def.arity == 1) cases.push_back({def.op, returned(name + "(a)")});
    if (def.arity == 3) cases.push_back({def.op, returned(name + "(c, a, b)")});
    if (def.arity != 2) continue;
    cases.push_back({def.op, returned(name + "(a, b)")});
    cases.push_back({def.op, returned(name + "(a, 2)")});
    cases.push_back({def.op, returned(name + "(3, a)")});
  }
}

/// Operands of one dtype in every layout, as pairs (a, b).
std::string layouts_of(const std::string& dtype) {
  const bool is_bool = dtype == "bool", is_unsigned = dtype[0] == 'u';
  const std::string shift = is_unsigned || is_bool ? "" : " - 5";
  const std::string scale = dtype[0] == 'f' || dtype == "bf16" ? " * 0.75" : "";
  auto base = [&](int count, const char* shape, int step) {
    return fmt::format("{}(reshape((arange({}) * {} % 11{}){}, {})){}", dtype, count, step, shift, scale, shape,
                       is_bool ? " == true" : "");
  };
  std::string text = "let inf = 1e308 * 10.0\nlet nan = inf - inf\n";
  text += fmt::format("let x = {}\nlet y = {}\nlet t = {}\nlet w = {}\nlet u = {}\n", base(12, "[3, 4]", 5),
                      base(12, "[3, 4]", 3), base(12, "[4, 3]", 7), base(48, "[6, 8]", 4), base(4, "[1, 4]", 3));
  text += fmt::format("let special = {}(tensor([[nan, 0.0, -0.0], [inf, -inf, 1.0]]))\n",
                      dtype == "bool" || dtype[0] == 'f' || dtype == "bf16" ? dtype : "f64");
  text +=
      "let layouts = [(x, y), (t.T, y), (x, t.T), (w[::2, 1::2], y), (x[::-1, ::-1], y), (expand(u, [3, 4]), x), (x, "
      "expand(x[:, 1:2], [3, 4])),\n"
      "               (zeros([0, 4], dtype: x.dtype), zeros([0, 4], dtype: x.dtype)), (zeros([3, 0], dtype: x.dtype), "
      "zeros([3, 0], dtype: x.dtype)),\n"
      "               (x[0, 1], y[1, 1]), (special, special[::-1])]\n";
  return text;
}

}  // namespace

std::vector<MatrixCase> matrix_cases() {
  std::vector<MatrixCase> cases;
  add_elementwise(cases);
  for (const char* dtype : kMatrixDTypes) cases.push_back({Op::cast, returned(fmt::format("{}(a)", dtype))});
  for (const OpDef& def : op_table()) {
    if (!is_reduction(def)) continue;
    for (const char* axis : {"", ", axis: 0", ", axis: -1", ", axis: -1, keepdims: true"}) {
      cases.push_back({def.op, returned(fmt::format("{}(a{})", def.name, axis))});
    }
  }
  for (const char* axis : {"0", "-1"}) {
    cases.push_back({Op::cumsum, returned(fmt::format("cumsum(a, axis: {})", axis))});
    cases.push_back({Op::cumprod, returned(fmt::format("cumprod(a, axis: {})", axis))});
    cases.push_back({Op::sort, returned(fmt::format("argsort(a, axis: {})", axis))});
    cases.push_back({Op::sort, returned(fmt::format("sort(a, axis: {}, descending: true)", axis))});
    cases.push_back({Op::result, returned(fmt::format("concat([f64(topk(a, 1, axis: {0})[0]), f64(topk(a, 1, axis: "
                                                      "{0})[1])])",
                                                      axis))});
    cases.push_back({Op::concat, returned(fmt::format("concat([a, b, a], axis: {})", axis))});
  }
  const MatrixCase others[] = {
      // More than a block of the reduction order: rows, few of them, columns, several axes, and with other reductions.
      {Op::logsumexp,
       "let z = tile(a, [1, 1100])\n  return concat([logsumexp(z, axis: -1), reshape(logsumexp(z), 1), sum(z, axis: "
       "-1) - logsumexp(z, axis: -1)])"},
      {Op::logsumexp,
       "let z = tile(a, [1500, 1])\n  return concat([reshape(logsumexp(z, axis: 0), [1, -1]), logsumexp(z * 2, axis: "
       "0, keepdims: true)])"},
      {Op::copy, returned("reshape(a.T, [-1])")},
      {Op::fill, returned("full([2, 3], 2, dtype: d) + full([], 1, dtype: d)")},
      {Op::iota, returned("arange(2, 14, 3, dtype: d)")},
      {Op::random_bits, returned("random_bits([3])")},
      {Op::random_uniform, returned("rand([2, 3], dtype: d)")},
      {Op::random_normal, returned("randn([2, 3], dtype: d)")},
      {Op::permute, returned("a.T")},
      {Op::expand, returned("expand(unsqueeze(a, 0), [2, a.shape[0], a.shape[1]])")},
      {Op::reshape, returned("reshape(a, [-1])")},
      {Op::slice, returned("a[..., ::-2]")},
      {Op::select, returned("a[-1]")},
      {Op::insert_axis, returned("unsqueeze(a, -1)")},
      {Op::windows, returned("windows(a, -1, 2)")},
      {Op::as_strided,
       returned("grad(fn(z) {\n    var y = z * 2\n    y[0] = y[1] * y[1]\n    return sum(y * y)\n  })(a)")},
      {Op::fold_windows, returned("grad(fn(z) = sum(windows(z, -1, 2) ** 2))(a)")},
      {Op::take, returned("a[tensor([1, 0, -1, 1])]")},
      {Op::take, returned("take(a, tensor([[0, 1], [-1, 7]]), axis: 0)")},
      {Op::scatter, "var y = a\n  y[tensor([1, 0, 1])] = b[0]\n  return y"},
      {Op::scatter_add, "var y = a\n  y[tensor([1, 0, 1])] += b[0]\n  return y"},
      {Op::scatter_add, "var y = a\n  y[:, tensor([0, 0])] += 1\n  return y"},
      {Op::nonzero, returned("a[c]")},
      {Op::assign_view, "var y = a\n  y[..., ::2] = b[..., ::2]\n  y[0] = 1\n  return y"},
      {Op::conv, returned("conv(a[nil], stack([b, b[::-1]])[:, :, :2], padding: [(1, 2)])")},
      {Op::conv, returned("conv(a[nil, nil], b[:2, :3][nil, nil], stride: [1, 2], padding: 1)")},
      {Op::conv, returned("conv(stack([a, a, b])[nil], b[:3, :1][:, nil, nil], groups: 3)")},
      {Op::conv_input_grad,
       returned("conv_transpose(a[nil, nil], b[:2, :2][nil, nil], [6, 7], stride: [2, 2], padding: 1)")},
      {Op::conv_weight_grad, returned("grad(fn(w) = sum(conv(a[nil], w, padding: 1) ** 2))(stack([b, b])[:, :, 1:3])")},
      {Op::matmul, returned("a @ b.T")},
      {Op::matmul, returned("a.T @ b")},
      {Op::cholesky, returned("cholesky(a @ a.T + full([], 400, dtype: d) * eye(a.shape[0], dtype: d))")},
      {Op::cholesky, returned("cholesky(a.T[:3, :3] + full([], 40, dtype: d) * eye(3, dtype: d))")},
      {Op::eigh, returned("eigh(a @ a.T)[0]")},
      {Op::eigh, "let (w, v) = eigh(a[:3, :3])\n  return v * v + (v * w) @ v.T"},
      {Op::solve_triangular, returned("solve_triangular(a[:3, :3] + full([], 9, dtype: d) * eye(3, dtype: d), b[:3])")},
      {Op::solve_triangular, returned("solve_triangular(a.T[:3, :3], b[:3].T[:3], upper: true)")},
      {Op::solve, returned("solve(a[:3, :3] + full([], 9, dtype: d) * eye(3, dtype: d), b[:3])")},
      {Op::solve, returned("solve(a.T[:3, :3] - full([], 9, dtype: d) * eye(3, dtype: d), b[:3].T[:3, 0])")},
      {Op::qr, returned("qr(stop_gradient(a))[1] + sum(a)")},  // of any rank; only of a full one QR has a derivative
      {Op::qr, returned("qr(a + full([], 9, dtype: d) * eye(a.shape[0], a.shape[-1], dtype: d))[1]")},
      {Op::qr, "let (q, r) = qr(a.T)\n  return q @ r + a.T"},
      {Op::svd, returned("svd(a)[1]")},
      {Op::svd,
       "let (u, s, vh) = svd(stop_gradient(a.T), full_matrices: true)\n"
       "  return (u[:, :s.size] * s) @ vh[:s.size] + sum(u @ u.T)"},
      {Op::svd, "let (u, s, vh) = svd(complex(a, b))\n  return real((u * s) @ vh) + imag(u @ vh) * 0"},
      {Op::qr, "let (q, r) = qr(complex(a, b).T)\n  return imag(q @ r).T + b"},
      {Op::lu, returned("abs(det(complex(a[:3, :3], b[:3, :3])))")},
      {Op::eigh, returned("eigh(complex(a[:3, :3], b[:3, :3]))[0]")},
      {Op::eig, returned("sum(eigvals(complex(a[:3, :3], b[:3, :3]))).re")},
      {Op::lu, returned("lu_factor(a)[0]")},
      {Op::lu, "let (factors, pivots, order) = lu_factor(a.T)\n  return factors * f64(order)[:, nil]"},
      {Op::eig, returned("eig_pairs(a[:3, :3])[0]")},
      {Op::eig, "let (w, v) = eig(a.T[:3, :3])\n  return real(v @ unsqueeze(w, -1)) + a.T[:3, :3]"},
      {Op::fft, returned("fft_pairs(a[..., :2])")},
      {Op::fft, returned("ifft(complex(a, b), axis: 0).re + b")},
      {Op::rfft, returned("rfft_pairs(a.T)")},
      {Op::rfft, returned("abs(rfft(a * b))")},
      {Op::irfft, returned("irfft(complex(a, b))")},
      {Op::irfft, returned("irfft(complex(a.T, b.T), 2 * a.shape[0] - 1) * 2")},
      {Op::attention, returned("flash_attention(a[nil], b[nil], a[nil])")},
      {Op::attention,
       returned("flash_attention(a.T[nil], b.T[nil], b.T[nil, :, :1], true, scale: 0.25, softcap: 3)[0]")},
      {Op::attention, returned("flash_attention(a[nil], b[nil], a[nil], attn_mask: a @ b.T > 0)")},
      {Op::attention_grad, returned("grad(fn(z) = sum(flash_attention(z[nil], b[nil], z[nil], true) * a))(a)")},
      {Op::attention_grad,
       returned("grad(fn(z) = sum(flash_attention(stack([a, z]), z[nil], b[nil], window_size: 2)))(b * 2)")},
      {Op::to_device,
       returned("a.to(a.device) + b.T.to(\"cpu\").to(b.device).T")},  // between devices: test_devices.cpp
      // In a world of one; between ranks: tests/ranks.
      {Op::gather_ranks, returned("gather_ranks(a)")},
      {Op::exchange_ranks, returned("exchange_ranks(b.T[nil])")},
      {Op::broadcast_rank, returned("broadcast_rank(a.T)")},
      {Op::sum_ranks, returned("sum_ranks(b.T)")},
      {Op::shift_ranks, returned("shift_ranks(b, 3)")},
  };
  cases.insert(cases.end(), std::begin(others), std::end(others));
  return cases;
}

std::string matrix_program(const MatrixCase& c, const std::string& dtype) {
  std::string text = layouts_of(dtype);
  text += fmt::format("@compile\nfn from_memory(a, b, c, d) {{\n  {}\n}}\n", c.body);
  // The same with operands and a use of the result in one group.
  text += fmt::format("fn call(a, b, c, d) {{\n  {}\n}}\n", c.body);
  text +=
      "@compile\nfn in_group(a, b, c, d) {\n  let p = where(c | true, a, b)\n  let q = where(c | true, b, a)\n"
      "  let r = call(p, q, c, d)\n  return (r, where(r == r, r, r), p)\n}\n";
  text +=
      "for (a, b) in layouts {\n"
      "  let c = (a != a) | (b == b)\n"
      "  try {\n    let r = from_memory(a, b, c, a.dtype)\n    print(r.dtype, r.shape, r.tolist())\n  } catch e {\n    "
      "print(e.name, e.message)\n  }\n"
      "  try {\n    let (r, s, p) = in_group(a, b, c, a.dtype)\n    print(r.tolist(), s.tolist(), p.tolist())\n  } "
      "catch e {\n    print(e.name, e.message)\n  }\n"
      "}\n";
  return text;
}

std::string gradient_program(const MatrixCase& c, const std::string& dtype) {
  std::string text = layouts_of(dtype);
  text += fmt::format("fn call(a, b, c, d) {{\n  {}\n}}\n", c.body);
  text +=
      "@compile\nfn gradient(a, b, c, d) = grad(fn(x) { let r = call(x, b, c, d)\n  return sum(r * r) })(a)\n"
      "for (a, b) in layouts {\n"
      "  let c = (a != a) | (b == b)\n"
      "  try { print(gradient(a, b, c, a.dtype).tolist()) } catch e { print(e.name, e.message) }\n"
      "}\n";
  return text;
}

}  // namespace tsl
