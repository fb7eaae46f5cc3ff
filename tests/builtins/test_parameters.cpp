// Each parameter of each builtin and of each function of the modules, given values of every kind.
#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "nn_arguments.h"
#include "support/all_functions.h"
#include "support/openblas.h"
#include "support/session.h"
#include "value/builtin.h"
#include "value/signature.h"

using namespace tsl;

namespace {

/// Functions whose result does not depend on their arguments alone, and those that need more arguments than have a
/// name.
const std::set<std::string> kOthers = {"args",
                                       "assert",
                                       "clock",
                                       "counters",
                                       "error",
                                       "help",
                                       "load",
                                       "print",
                                       "save",
                                       "read_text",
                                       "seed",
                                       "write_text",
                                       "einsum",
                                       "vjp",
                                       "nn.batches",
                                       "explain",
                                       "profile",
                                       "with_range",
                                       "recompile",
                                       "wait",
                                       "breakpoint",
                                       "bench",
                                       "read_lines",
                                       "append_text",
                                       "exists",
                                       "list_files",
                                       "input",
                                       "eprint",
                                       "exit",
                                       "env",
                                       "now",
                                       "parse_args",
                                       "random_state",
                                       "set_random_state",
                                       "read_bytes",
                                       "write_bytes",
                                       "mkdir",
                                       "sleep",
                                       "load_rows",
                                       "load_shapes",
                                       "line_starts",
                                       "begin_rows",
                                       "end_rows",
                                       "begin_save",
                                       "end_save",
                                       "parallel.metrics",
                                       "parallel.wait_checkpoint",
                                       "parallel.save_checkpoint",
                                       "parallel.load_checkpoint"};

/// An argument that fits a parameter, by "function.parameter", else by "parameter".
const std::map<std::string, std::string> kFitting = {
    {"x", "reshape(arange(6) * 1.0, [2, 3])"},
    {"a", "tensor([1, 2, 3])"},
    {"b", "tensor([3, 1, 2])"},
    {"axis", "1"},
    {"axis0", "0"},
    {"axis1", "1"},
    {"keepdims", "false"},
    {"dtype", "f32"},
    {"device", "nil"},
    {"shape", "[2, 3]"},
    {"value", "1.5"},
    {"start", "0"},
    {"stop", "4"},
    {"step", "1"},
    {"n", "3"},
    {"m", "2"},
    {"num", "4"},
    {"endpoint", "true"},
    {"decimals", "1"},
    {"f", "fn(v) = v * 2"},
    {"wrt", "0"},
    {"has_aux", "false"},
    {"index", "tensor([1, 0])"},
    {"k", "1"},
    {"weight", "ones([3])"},
    {"bias", "ones([3])"},
    {"eps", "1e-5"},
    {"size", "2"},
    {"dilation", "1"},
    {"text", "\"a b a\""},
    {"width", "9"},
    {"fill", "\"*\""},
    {"item", "\"a\""},
    {"code", "97"},
    {"bytes", "encode(\"ab\")"},
    {"pattern", "\"a\""},
    {"replacement", "\"c\""},
    {"search.start", "1"},
    {"substitute.limit", "1"},
    {"full", "true"},
    {"find.x", "\"a b a\""},
    {"rfind.x", "\"a b a\""},
    {"count.x", "\"a b a\""},
    {"contains.x", "\"a b a\""},
    {"suffix", "\"a\""},
    {"prefix", "\"a\""},
    {"separator", "\"-\""},
    {"chars", "\"a\""},
    {"character", "\"a\""},
    {"old", "\"a\""},
    {"new", "\"c\""},
    {"from_json.text", "\"[1]\""},
    {"parse_time.text", "\"2024-01-31\""},
    {"parse_time.format", "\"%Y-%m-%d\""},
    {"indent", "2"},
    {"seconds", "3.0"},
    {"format", "\"%Y\""},
    {"strings", "[\"a\", \"b\"]"},
    {"record", "{a: 1, b: 2}"},
    {"key", "1"},
    {"parallel.dropout.key", "1"},
    {"parallel.loader.source", "arange(4)"},
    {"parallel.loader.window", "1"},
    {"parallel.loader.seed", "1"},
    {"parallel.loader.shuffle", "true"},
    {"parallel.loader.last", "\"drop\""},
    {"parallel.loader.ahead", "2"},
    {"parallel.sharded_init.p", "ones([2])"},
    {"parallel.sharded_init.init", "optim.adam_init"},
    {"masters", "true"},
    {"parallel.sharded.p", "ones([2])"},
    {"parallel.sharded.step", "fn(p, g, s) = optim.adam(p, g, s)"},
    {"parallel.sharded.opt", "parallel.sharded_init(optim.adam_init, ones([2]))"},
    {"parallel.accumulate.f", "fn(p, x) = sum(p * x)"},
    {"parallel.accumulate.p", "ones([2])"},
    {"parallel.accumulate.batches", "[(ones([2]),)]"},
    {"has.key", "\"a\""},
    {"get.key", "\"a\""},
    {"remove.key", "\"a\""},
    {"tensors", "[ones([2, 3]), zeros([2, 3])]"},
    {"descending", "false"},
    {"largest", "true"},
    {"correction", "1"},
    {"ord", "2"},
    {"low", "0"},
    {"high", "9"},
    {"p", "0.5"},
    {"order", "[1, 0]"},
    {"equation", "\"ij->ji\""},
    {"data", "[1, 2]"},
    {"target", "f64"},
    {"tree", "{a: ones([2]), b: [zeros([3])]}"},
    {"condition", "tensor([true, false, true])"},
    {"src", "1.0"},
    {"num_classes", "7"},
    {"by", "1"},
    {"reps", "2"},
    {"shift", "1"},
    {"root", "0"},
    {"bucket", "3"},
    {"exchange_ranks.x", "ones([1, 2])"},
    {"sum_scatter_ranks.x", "ones([1, 2])"},
    {"end", "-1"},
    {"pad", "1"},
    {"min", "1.0"},
    {"max", "2.0"},
    {"stride", "1"},
    {"padding", "0"},
    {"kernel_size", "2"},
    {"count_include_pad", "true"},
    {"groups", "1"},
    {"query", "ones([2, 4])"},
    {"scale", "0.5"},
    {"logits", "reshape(arange(6) * 1.0, [2, 3])"},
    {"labels", "tensor([1, 0])"},
    {"reduction", "\"mean\""},
    {"label_smoothing", "0.0"},
    {"ignore_index", "nil"},
    {"attn_mask", "nil"},
    {"is_causal", "false"},
    {"training", "true"},
    {"from_logits", "true"},
    {"slope", "0.1"},
    {"alpha", "1.0"},
    {"heads", "1"},
    {"causal", "false"},
    {"d", "2"},
    {"targets", "ones([2, 3])"},
    {"gain", "1.0"},
    {"mean", "zeros([3])"},
    {"var", "ones([3])"},
    {"w", "ones([3, 2])"},
    {"g", "ones([2])"},
    {"max_norm", "1.0"},
    {"limit", "1.0"},
    {"opt", "optim.adam_init(ones([2]))"},
    {"lr", "0.1"},
    {"momentum", "0.0"},
    {"nesterov", "false"},
    {"dampening", "0.0"},
    {"amsgrad", "false"},
    {"maximize", "false"},
    {"decoupled_weight_decay", "false"},
    {"weight_decay", "0.0"},
    {"beta1", "0.9"},
    {"beta2", "0.99"},
    {"warmup", "2"},
    {"total", "9"},
    {"every", "2"},
    {"factor", "0.5"},
    {"optim.cosine_restarts.factor", "2.0"},
    {"min_lr", "0.0"},
    {"reverse", "false"},
    {"logical_not.x", "tensor([true, false])"},
    {"bit_not.x", "arange(3)"},
    {"y", "ones([2, 3])"},
    {"iinfo.dtype", "i8"},
    {"heaviside.values", "0.5"},
    {"rtol", "0.0"},
    {"atol", "0.0"},
    {"equal_nan", "true"},
    {"nan", "0.0"},
    {"posinf", "1.0"},
    {"neginf", "nil"},
    {"int.x", "2"},
    {"float.x", "2"},
    {"bool.x", "true"},
    {"item.x", "tensor(2)"},
    {"matmul.a", "ones([2, 2])"},
    {"matmul.b", "ones([2, 2])"},
    {"cholesky.x", "eye(2)"},
    {"eigh.x", "eye(2)"},
    {"solve_triangular.a", "eye(2)"},
    {"solve_triangular.b", "ones([2, 2])"},
    {"upper", "true"},
    {"solve.a", "eye(2)"},
    {"solve.b", "ones([2, 2])"},
    {"qr.x", "eye(2)"},
    {"qr.mode", "\"reduced\""},
    {"svd.x", "eye(2)"},
    {"full_matrices", "false"},
    {"inv.x", "eye(2)"},
    {"lu.x", "eye(2)"},
    {"det.x", "eye(2)"},
    {"slogdet.x", "eye(2)"},
    {"matrix_power.x", "eye(2)"},
    {"expm.x", "eye(2)"},
    {"sqrtm.x", "eye(2)"},
    {"logm.x", "eye(2)"},
    {"max_roots", "3"},
    {"null_space.x", "eye(2)"},
    {"orth.x", "eye(2)"},
    {"lu_and_piv", "lu_factor(eye(2))"},
    {"lu_solve.b", "ones([2])"},
    {"c_and_lower", "(eye(2), true)"},
    {"cho_solve.b", "ones([2])"},
    {"svdvals.x", "eye(2)"},
    {"eigvalsh.x", "eye(2)"},
    {"pinv.x", "eye(2)"},
    {"matrix_rank.x", "eye(2)"},
    {"matrix_norm.x", "eye(2)"},
    {"cond.x", "eye(2)"},
    {"trace.x", "eye(2)"},
    {"lstsq.a", "eye(2)"},
    {"lstsq.b", "ones([2])"},
    {"rcond", "1e-3"},
    {"tol", "1e-3"},
    {"rtol", "1e-3"},
    {"max_squarings", "3"},
    {"polar.x", "eye(2)"},
    {"arrays", "[eye(2), ones([2, 1])]"},
    {"offset", "1"},
    {"x1", "ones([2, 3])"},
    {"x2", "ones([4, 3])"},
    {"tensordot.axes", "0"},
    {"cond.p", "2"},
    {"c", "tensor([1, 2, 3])"},
    {"r", "tensor([1, 2])"},
    {"cross.axis", "0"},
    {"vecdot.axis", "0"},
    {"lu_factor.x", "eye(2)"},
    {"eig.x", "eye(2)"},
    {"eig_pairs.x", "eye(2)"},
    {"eig_of_pairs.x", "ones([3, 3, 2])"},
    {"eigh_of_pairs.x", "ones([3, 3, 2])"},
    {"qr_of_pairs.x", "ones([3, 2, 2])"},
    {"svd_of_pairs.x", "ones([3, 2, 2])"},
    {"lu_of_pairs.x", "ones([3, 2, 2])"},
    {"complete", "false"},
    {"eigvals.x", "eye(2)"},
    {"roots.p", "[1.0, 2.0, 3.0]"},
    {"view_as_complex.x", "ones([3, 2])"},
    {"view_as_real.z", "complex(ones([2]), ones([2]))"},
    {"fft_pairs.x", "ones([3, 2])"},
    {"irfft_pairs.x", "ones([3, 2])"},
    {"irfft_pairs.n", "4"},
    {"inverse", "true"},
    {"re", "ones([2])"},
    {"im", "ones([2])"},
    {"angle", "1.0"},
    {"norm", "\"ortho\""},
    {"s", "[2, 2]"},
    {"istft.z", "stft(ones([8]), 4, 2)"},
    {"stft.x", "ones([8])"},
    {"n_fft", "4"},
    {"hop_length", "2"},
    {"win_length", "4"},
    {"window", "ones([4])"},
    {"center", "true"},
    {"normalized", "false"},
    {"onesided", "true"},
    {"length", "2"},
    {"reduce.f", "fn(v, w) = v + w"},
    {"reduce.x", "[1, 2]"},
    {"map.x", "[1, 2]"},
    {"filter.f", "fn(v) = v > 1"},
    {"filter.x", "[1, 2]"},
    {"sorted.x", "[2, 1]"},
    {"sorted.key", "nil"},
    {"get.x", "[\"a\": 1]"},
    {"get.default", "nil"},
    {"remove.x", "[\"a\": 1]"},
    {"dict.x", "[(1, 2)]"},
    {"set.x", "[1, 2]"},
    {"take.axis", "0"},
    {"scatter_add.index", "tensor([[0], [1]])"},
    {"gather.index", "tensor([[0], [1]])"},
    {"from_start", "false"},
    {"split.limit", "nil"},
    {"squeeze.x", "ones([2, 1])"},
    {"one_hot.x", "tensor([0, 1])"},
    {"embedding.x", "tensor([0, 1])"},
    {"nn.embedding.x", "tensor([0, 1])"},
    {"nn.one_hot.x", "tensor([0, 1])"},
    {"embedding.weight", "ones([3, 2])"},
    {"nn.embedding.weight", "ones([3, 2])"},
    {"expand.x", "ones([1, 3])"},
    {"reshape.shape", "[3, 2]"},
    {"linspace.start", "0.0"},
    {"linspace.stop", "1.0"},
    {"enumerate.start", "1"},
    {"f.value_and_grad", "sum"},
    {"grad.f", "sum"},
    {"value_and_grad.f", "sum"},
    {"vmap.in_axes", "0"},
    {"vmap.out_axes", "0"},
    {"with_vjp.rule", "fn(v, y, g) = g"},
    {"jvp.args", "ones([2])"},
    {"jvp.tangents", "ones([2])"},
    {"hessian.f", "sum"},
    {"hvp.f", "sum"},
    {"hvp.v", "ones([2, 3])"},
    {"tree_map.f", "fn(v) = v"},
    {"profile.f", "fn() = 1"},
    {"with_range.f", "fn() = 1"},
    {"with_range.name", "\"a\""},
    {"flatten.start", "0"},
    {"range.start", "1"},
    {"randint.shape", "[2]"},
    {"bernoulli.shape", "[2]"},
    {"random_truncated_normal.low", "-1.0"},
    {"fold_in.data", "2"},
    {"std", "2.0"},
    {"loc", "1.0"},
    {"random_dirichlet.alpha", "tensor([1.0, 2.0, 3.0])"},
    {"random_dirichlet.shape", "[2]"},
    {"random_multivariate_normal.mean", "zeros([2])"},
    {"random_multivariate_normal.cov", "eye(2)"},
    {"random_multivariate_normal.shape", "[3]"},
    {"random_weibull.a", "2.0"},
    {"random_beta.a", "2.0"},
    {"random_beta.b", "3.0"},
    {"df", "3.0"},
    {"lam", "2.0"},
    {"multinomial.p", "[1.0, 2.0, 3.0]"},
    {"multinomial.replacement", "true"},
    {"categorical.shape", "[4, 2]"},
    {"choice.x", "tensor([1.0, 2.0])"},
    {"choice.shape", "[2]"},
    {"choice.axis", "0"},
    {"choice.p", "[0.5, 0.5]"},
    {"replace", "true"},
    {"eye.n", "2"},
    {"pad.value", "0"},
    {"one_hot.dtype", "i64"},
    {"key.key", "key"},
    {"y", "tensor([1.0, 2.0])"},
    {"z", "tensor([3.0])"},
    {"q", "0.5"},
    {"fill_value", "2"},
    {"base", "10.0"},
    {"geomspace.start", "1"},
    {"indexing", "\"ij\""},
    {"fromfunction.f", "fn(i, j) = i + j"},
    {"vander.x", "tensor([1.0, 2.0])"},
    {"increasing", "false"},
    {"source", "0"},
    {"destination", "1"},
    {"unflatten.shape", "[3, 1]"},
    {"axes", "[0, 1]"},
    {"offset", "0"},
    {"diagonal.axis1", "0"},
    {"axis2", "1"},
    {"broadcast_tensors.y", "ones([3])"},
    {"pixel_shuffle.x", "ones([1, 4, 2, 2])"},
    {"upscale_factor", "2"},
    {"pixel_unshuffle.x", "ones([1, 4, 2, 2])"},
    {"downscale_factor", "2"},
    {"cumulative_trapezoid.y", "ones([2, 3])"},
    {"cumulative_trapezoid.x", "arange(3) * 1.0"},
    {"indices", "tensor([1, 5])"},
    {"multi_index", "[tensor([0, 1]), tensor([2, 1])]"},
    {"chunks", "2"},
    {"sections", "2"},
    {"repeats", "2"},
    {"mode", "\"reflect\""},
    {"fold.x", "ones([1, 4, 4])"},
    {"output_size", "3"},
    {"v", "2.0"},
    {"side", "\"left\""},
    {"boundaries", "tensor([1.0, 2.0])"},
    {"right", "false"},
    {"digitize.bins", "tensor([1.0, 2.0])"},
    {"kth", "1"},
    {"keys", "[ones([2, 2]), zeros([2, 2])]"},
    {"test_elements", "tensor([1.0])"},
    {"invert", "false"},
    {"return_index", "true"},
    {"return_inverse", "true"},
    {"return_counts", "true"},
    {"bincount.x", "tensor([0, 1, 1])"},
    {"weights", "ones([2, 3])"},
    {"bincount.weights", "ones([3])"},
    {"minlength", "4"},
    {"associative_scan.f", "fn(a, b) = a + b"},
    {"reverse", "false"},
    {"diff.n", "1"},
    {"prepend", "0"},
    {"append", "0"},
    {"trapezoid.y", "ones([2, 3])"},
    {"trapezoid.x", "arange(3) * 1.0"},
    {"dx", "1.0"},
    {"gradient.f", "ones([2, 3])"},
    {"spacing", "1.0"},
    {"edge_order", "1"},
    {"method", "\"linear\""},
    {"cov.y", "ones([1, 3])"},
    {"corrcoef.y", "ones([1, 3])"},
    {"rowvar", "true"},
    {"bins", "4"},
    {"range", "(0, 4)"},
    {"density", "false"},
    {"scatter.index", "tensor([[1, 0]])"},
    {"scatter_reduce.index", "tensor([[1, 0]])"},
    {"reduce", "\"sum\""},
    {"include_self", "true"},
    {"segment_ids", "tensor([0, 1])"},
    {"num_segments", "2"},
    {"value.query", "ones([2, 4])"},
    {"attention.key", "ones([2, 4])"},
    {"flash_attention.query", "ones([1, 2, 4])"},
    {"flash_attention.key", "ones([1, 2, 4])"},
    {"flash_attention.value", "ones([1, 2, 4])"},
    {"flash_attention.scale", "0.5"},
    {"flash_attention.window_size", "2"},
    {"flash_attention.softcap", "2.0"},
    {"flash_attention.attn_mask", "ones([2, 2], dtype: bool)"},
    {"attention.value", "ones([2, 4])"},
    {"nn.attention.key", "ones([2, 4])"},
    {"nn.attention.value", "ones([2, 4])"},
    {"conv.x", "ones([1, 1, 4])"},
    {"conv.weight", "ones([1, 1, 2])"},
    {"conv.padding", "[(1, 0)]"},
    {"conv_transpose.x", "ones([1, 1, 4])"},
    {"conv_transpose.weight", "ones([1, 1, 2])"},
    {"conv_transpose.shape", "[5]"},
    {"conv_transpose.padding", "0"},
    {"conv2d.x", "ones([1, 1, 4, 4])"},
    {"conv2d.weight", "ones([1, 1, 2, 2])"},
    {"conv2d.bias", "ones([1])"},
    {"nn.conv2d.x", "ones([1, 1, 4, 4])"},
    {"nn.conv2d.weight", "ones([1, 1, 2, 2])"},
    {"nn.conv2d.bias", "ones([1])"},
    {"max_pool2d.x", "ones([1, 1, 4, 4])"},
    {"nn.max_pool2d.x", "ones([1, 1, 4, 4])"},
    {"avg_pool2d.x", "ones([1, 1, 4, 4])"},
    {"nn.avg_pool2d.x", "ones([1, 1, 4, 4])"},
    {"nn.linear.b", "ones([2])"},
    {"nn.mse.a", "ones([2])"},
    {"nn.mse.b", "zeros([2])"},
    {"nn.l1.a", "ones([2])"},
    {"nn.l1.b", "zeros([2])"},
    {"nn.multi_head_attention.p", "nn.multi_head_attention_init(2)"},
    {"nn.multi_head_attention.x", "ones([1, 3, 2])"},
    {"nn.dropout.p", "0.5"},
    {"optim.sgd_init.p", "ones([2])"},
    {"optim.adam_init.p", "ones([2])"},
    {"optim.adamw_init.p", "ones([2])"},
    {"optim.sgd.p", "ones([2])"},
    {"optim.adam.p", "ones([2])"},
    {"optim.adamw.p", "ones([2])"},
    {"optim.lion_init.p", "ones([2])"},
    {"optim.lion.p", "ones([2])"},
    {"optim.lion.opt", "optim.lion_init(ones([2]))"},
    {"optim.lars_init.p", "ones([2])"},
    {"optim.lars.p", "ones([2])"},
    {"optim.lars.opt", "optim.lars_init(ones([2]))"},
    {"optim.adamax_init.p", "ones([2])"},
    {"optim.adamax.p", "ones([2])"},
    {"optim.adamax.opt", "optim.adamax_init(ones([2]))"},
    {"optim.nadam_init.p", "ones([2])"},
    {"optim.nadam.p", "ones([2])"},
    {"optim.nadam.opt", "optim.nadam_init(ones([2]))"},
    {"optim.radam_init.p", "ones([2])"},
    {"optim.radam.p", "ones([2])"},
    {"optim.radam.opt", "optim.radam_init(ones([2]))"},
    {"optim.lamb_init.p", "ones([2])"},
    {"optim.lamb.p", "ones([2])"},
    {"optim.lamb.opt", "optim.lamb_init(ones([2]))"},
    {"optim.adagrad_init.p", "ones([2])"},
    {"optim.adagrad.p", "ones([2])"},
    {"optim.adagrad.opt", "optim.adagrad_init(ones([2]))"},
    {"optim.rmsprop_init.p", "ones([2])"},
    {"optim.rmsprop.p", "ones([2])"},
    {"optim.rmsprop.opt", "optim.rmsprop_init(ones([2]))"},
    {"optim.adadelta_init.p", "ones([2])"},
    {"optim.adadelta.p", "ones([2])"},
    {"optim.adadelta.opt", "optim.adadelta_init(ones([2]))"},
    {"optim.adafactor_init.p", "ones([2])"},
    {"optim.adafactor.p", "ones([2])"},
    {"optim.adafactor.opt", "optim.adafactor_init(ones([2]))"},
    {"optim.muon_init.p", "ones([2, 2])"},
    {"optim.muon.p", "ones([2, 2])"},
    {"optim.muon.g", "ones([2, 2])"},
    {"optim.muon.opt", "optim.muon_init(ones([2, 2]))"},
    {"optim.lbfgs_init.p", "ones([2, 2])"},
    {"optim.lbfgs.p", "ones([2, 2])"},
    {"optim.lbfgs.g", "ones([2, 2])"},
    {"optim.lbfgs.opt", "optim.lbfgs_init(ones([2, 2]))"},
    {"optim.accumulate.f", "fn(p, k) = sum(p) * k"},
    {"optim.accumulate.p", "ones([2])"},
    {"batches", "[(2.0,)]"},
    {"scaler", "optim.scaler_init()"},
    {"growth", "2.0"},
    {"backoff", "0.5"},
    {"interval", "2"},
    {"lr_decay", "0.1"},
    {"rho", "0.9"},
    {"initial", "0.5"},
    {"centered", "true"},
    {"beta2_decay", "-0.8"},
    {"momentum_decay", "0.01"},
    {"trust", "0.01"},
    {"adjust", "\"original\""},
    {"history", "2"},
    {"optim.partition.p", "{a: ones([2]), b: ones([3])}"},
    {"optim.partition.predicate", "fn(name, x) = name == \"a\""},
    {"optim.combine.p", "{a: ones([2]), b: ones([3])}"},
    {"optim.combine.chosen", "{a: zeros([2])}"},
    {"optim.combine.others", "{b: zeros([3])}"},
    {"optim.ema_init.p", "ones([2])"},
    {"optim.ema.p", "ones([2])"},
    {"average", "zeros([2])"},
    {"decay", "0.9"},
    {"milestones", "[2, 4]"},
    {"power", "2.0"},
    {"period", "3"},
    {"pct_start", "0.3"},
    {"div_factor", "25.0"},
    {"final_div_factor", "100.0"},
    {"anneal", "\"linear\""},
    {"optim.reduce_on_plateau.state", "optim.plateau_init(0.1)"},
    {"loss", "1.0"},
    {"patience", "2"},
    {"threshold", "0.1"},
    {"cooldown", "1"},
    {"optim.sgd.opt", "optim.sgd_init(ones([2]))"},
    {"optim.adamw.opt", "optim.adamw_init(ones([2]))"},
    {"convolve.v", "[1.0, 2.0]"},
    {"convolve.mode", "\"same\""},
    {"correlate.v", "[1.0, 2.0]"},
    {"correlate.mode", "\"same\""},
    {"medfilt.x", "[1.0, 2.0, 0.5]"},
    {"medfilt.kernel_size", "3"},
    {"sym", "false"},
    {"kaiser.beta", "5.0"},
    {"dct.type", "3"},
    {"dct.norm", "\"ortho\""},
    {"idct.type", "3"},
    {"idct.norm", "\"ortho\""},
    {"up", "3"},
    {"down", "2"},
    {"xp", "[0.0, 1.0, 2.0]"},
    {"fp", "[1.0, 3.0, 2.0]"},
    {"interp.left", "0.5"},
    {"interp.right", "1.5"},
    {"polyval.p", "[1.0, 2.0]"},
    {"polyfit.x", "[0.0, 1.0, 2.0]"},
    {"polyfit.y", "[1.0, 3.0, 2.0]"},
    {"deg", "1"},
    {"simpson.y", "ones([2, 3])"},
    {"dx", "0.5"},
    {"unwrap.p", "ones([2, 3])"},
    {"discont", "4.0"},
    {"period", "5.0"},
    {"detrend.type", "\"constant\""},
    {"science.cg.a", "eye(3)"},
    {"science.cg.b", "ones([3])"},
    {"science.cg.x0", "zeros([3])"},
    {"science.bicgstab.a", "eye(3)"},
    {"science.bicgstab.b", "ones([3])"},
    {"science.bicgstab.x0", "zeros([3])"},
    {"science.gmres.a", "eye(3)"},
    {"science.gmres.b", "ones([3])"},
    {"science.gmres.x0", "zeros([3])"},
    {"rtol", "1e-3"},
    {"atol", "1e-6"},
    {"maxiter", "9"},
    {"M", "nil"},
    {"restart", "5"},
    {"science.minimize.f", "fn(v) = sum(v * v)"},
    {"x0", "ones([2])"},
    {"science.minimize.method", "\"lbfgs\""},
    {"tol", "1e-3"},
    {"science.bisect.maxiter", "60"},
    {"ftol", "1e-6"},
    {"xtol", "1e-6"},
    {"gtol", "1e-6"},
    {"metric", "\"cityblock\""},
    {"science.squareform.x", "ones([3])"},
    {"queries", "ones([1, 3])"},
    {"init", "nil"},
    {"iterations", "3"},
    {"science.bisect.a", "-1"},
    {"science.bisect.b", "2"},
    {"science.brentq.a", "-1"},
    {"science.brentq.b", "2"},
    {"science.odeint.f", "fn(t, y) = y"},
    {"y0", "ones([2])"},
    {"t", "[0.0, 0.1]"},
    {"science.odeint.method", "\"rk4\""},
    {"max_steps", "100"},
    {"in1", "ones([3, 3])"},
    {"in2", "ones([2, 2])"},
    {"convolve2d.mode", "\"same\""},
    {"numtaps", "5"},
    {"cutoff", "0.5"},
    {"savgol_filter.x", "ones([2, 5])"},
    {"window_length", "3"},
    {"polyorder", "1"},
    {"deriv", "1"},
    {"delta", "0.5"},
    {"science.curve_fit.f", "fn(x, p) = p * x"},
    {"science.curve_fit.x", "[1.0, 2.0]"},
    {"science.curve_fit.y", "[1.0, 3.0]"},
    {"p0", "[1.0]"},
    {"science.uniform_filter.mode", "\"wrap\""},
    {"science.pareto.alpha", "2.5"},
    {"sigma", "1.0"},
    {"truncate", "3.0"},
    {"science.gaussian_filter.mode", "\"wrap\""},
    {"science.sobel.mode", "\"wrap\""},
    {"science.median_filter.mode", "\"wrap\""},
    {"science.erosion.mode", "\"wrap\""},
    {"science.dilation.mode", "\"wrap\""},
    {"cval", "0.5"},
    {"science.resize.method", "\"nearest\""},
    {"indices", "[0, 2]"},
    {"indptr", "[0, 1, 2]"},
    {"science.csr.indices", "tensor([1, 2])"},
    {"science.csr_to_dense.a", "science.csr_from_dense(eye(3))"},
    {"science.csr_matmul.a", "science.csr_from_dense(eye(3))"},
    {"science.csr_transpose.a", "science.csr_from_dense(eye(3))"},
    {"science.csr_matmul.x", "ones([3])"},
    {"rate", "1.5"},
    {"loc", "0.5"},
    {"concentration", "tensor([0.5, 2.0])"},
    {"science.beta.a", "1.5"},
    {"science.beta.b", "2.5"},
    {"df", "3.0"},
    {"cov", "eye(3)"},
    {"science.quad.a", "0.0"},
    {"science.quad.b", "1.0"},
    {"epsabs", "1e-6"},
    {"epsrel", "1e-6"},
    {"science.quad.limit", "5"},
    {"science.interp1d.x", "[0.0, 1.0, 2.0]"},
    {"science.interp1d.y", "[1.0, 3.0, 2.0]"},
    {"science.cubic_spline.x", "[0.0, 1.0, 2.0]"},
    {"science.cubic_spline.y", "[1.0, 3.0, 2.0]"},
    {"science.pchip.x", "[0.0, 1.0, 2.0]"},
    {"science.pchip.y", "[1.0, 3.0, 2.0]"},
    {"kind", "\"nearest\""},
    {"fill_value", "0.0"},
    {"bc_type", "\"natural\""},
    {"title", "\"t\""},
    {"x_label", "\"x\""},
    {"y_label", "\"y\""},
    {"x_scale", "\"log\""},
    {"y_scale", "\"log\""},
    {"x_range", "(1, 2)"},
    {"y_range", "(1, 2)"},
    {"legend", "true"},
    {"height", "90"},
    {"colours", "\"grey\""},
    {"levels", "3"},
    {"plots", "[plot.line([1, 2])]"},
    {"columns", "1"},
    {"titles", "[\"a\"]"},
    {"plot.line.width", "160"},
    {"plot.scatter.width", "160"},
    {"plot.bar.width", "160"},
    {"plot.histogram.width", "160"},
    {"plot.band.width", "160"},
    {"plot.heatmap.width", "160"},
    {"plot.contour.width", "160"},
    {"plot.image.width", "160"},
    {"plot.images.width", "160"},
    {"plot.grid.width", "160"},
    {"plot.line.x", "[1, 2]"},
    {"plot.line.y", "[2, 1]"},
    {"plot.scatter.x", "[1, 2]"},
    {"plot.scatter.y", "[2, 1]"},
    {"plot.band.x", "[1, 2]"},
    {"plot.band.y", "[2, 1]"},
    {"plot.bar.x", "[\"a\", \"b\"]"},
    {"plot.bar.y", "[2, 1]"},
    {"plot.band.error", "0.5"},
    {"plot.heatmap.z", "ones([2, 3])"},
    {"plot.heatmap.x", "[0, 1, 2]"},
    {"plot.heatmap.y", "[0, 1]"},
    {"plot.contour.z", "ones([2, 3])"},
    {"plot.contour.x", "[0, 1, 2]"},
    {"plot.contour.y", "[0, 1]"},
    {"plot.images.xs", "[ones([2, 2])]"},
};

/// Values of each kind.
const char* const kValues[] = {"nil",
                               "true",
                               "1",
                               "-1",
                               "1.5",
                               "\"a\"",
                               "[]",
                               "[0]",
                               "[0, 1]",
                               "(1, 0)",
                               "{a: 1}",
                               "[\"a\": 1]",
                               "f32",
                               "fn(v) = v",
                               "0..2",
                               "tensor(1)",
                               "tensor([0])",
                               "tensor([0, 1])",
                               "tensor([[1]])",
                               "tensor(1.5)",
                               "tensor(true)"};
/// Integers as a tensor, and the ints and lists that it may stand for.
const std::pair<const char*, std::vector<const char*>> kSame[] = {
    {"tensor(1)", {"1"}},          {"tensor(1, dtype: i32)", {"1"}}, {"tensor(-1)", {"-1"}},
    {"tensor([0])", {"[0]", "0"}}, {"tensor([0, 1])", {"[0, 1]"}},   {"tensor([1, 0])", {"(1, 0)"}},
};

/// Parameters that hold axes, shapes or counts: a tensor is as good as the ints in it, or refused.
const std::set<std::string> kCounts = {"axis", "axis0", "axis1",  "shape",    "order",       "reps",        "shift",
                                       "by",   "size",  "step",   "dilation", "k",           "num_classes", "n",
                                       "m",    "num",   "stride", "padding",  "kernel_size", "groups",      "start",
                                       "end",  "pad",   "wrt",    "heads",    "output_size"};

/// Parameters of such a name that are numbers to compute with, and whose tensors give tensors.
const std::set<std::string> kNumbers = {"linspace.start",
                                        "science.ellipk.m",
                                        "science.ellipe.m",
                                        "logspace.start",
                                        "geomspace.start",
                                        "lerp.start",
                                        "lerp.end",
                                        "nn.fans.shape",
                                        "optim.linear_warmup.step",
                                        "optim.cosine.step",
                                        "optim.step_decay.step",
                                        "optim.multi_step_decay.step",
                                        "optim.exponential_decay.step",
                                        "optim.polynomial_decay.step",
                                        "optim.inverse_sqrt.step",
                                        "optim.cosine_restarts.step",
                                        "optim.one_cycle.step",
                                        "parallel.sharded.step",
                                        "random_binomial.n",
                                        "random_negative_binomial.n"};

/// All functions whose results can be compared.
std::vector<Callee> functions(Session& s) {
  std::vector<Callee> found = all_functions(s);
  found.erase(std::remove_if(found.begin(), found.end(), [](const Callee& c) { return kOthers.count(c.name) > 0; }),
              found.end());
  return found;
}

/// Whether a function is one of nn, or of the builtins that are.
bool is_neural(const Callee& callee) {
  const std::string& name = callee.name;
  return name.starts_with("nn.") || name.find("_pool") != name.npos || name == "attention";
}

const std::string* fitting(const Callee& callee, const ParameterInfo& parameter) {
  for (const std::string& key : {callee.name + "." + *parameter.name, *parameter.name}) {
    for (const auto* arguments : {&kNnArguments, &kFitting}) {
      if (arguments == &kNnArguments && !is_neural(callee)) continue;
      const auto found = arguments->find(key);
      if (found != arguments->end()) return &found->second;
    }
  }
  return nullptr;
}

/// What a call gives, or "" if it raises an error. An error that is not the program's fails the test; one that
/// `left_out` counts is given as a result.
std::string outcome(Session& s, const std::string& call, WithoutOpenBlas* left_out = nullptr) {
  INFO(call);
  try {
    s.printed.clear();
    const std::string value =
        s.eval("import nn\nimport optim\nimport science\nimport plot\nimport world\nimport parallel\nseed(1)\nrepr(" +
               call + ")");
    return s.printed + value;
  } catch (const Failure& failure) {
    CHECK(failure.error().message.find("internal error") == std::string::npos);
    return left_out && left_out->leaves_out(failure.error().message) ? failure.error().message : "";
  }
}

/// The call with `value` for parameter `at`. Those before it are given in the same way, and later ones that are
/// required by name.
std::string call_with(const Callee& callee, size_t at, const std::string& value, bool by_name) {
  const std::vector<ParameterInfo>& parameters = callee.signature->parameters;
  std::string arguments;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (i > at && parameters[i].has_default) continue;
    const std::string& argument = i == at ? value : *fitting(callee, parameters[i]);
    if (!arguments.empty()) arguments += ", ";
    if (by_name || i > at) arguments += *parameters[i].name + ": ";
    arguments += argument;
  }
  return callee.name + "(" + arguments + ")";
}

}  // namespace

TEST_CASE("a fitting argument is known for each parameter of each function, and fits") {
  Session s;
  WithoutOpenBlas left_out;
  for (const Callee& callee : functions(s)) {
    const auto& parameters = callee.signature->parameters;
    for (const ParameterInfo& parameter : parameters) {
      INFO(callee.name << ": " << *parameter.name);
      REQUIRE(fitting(callee, parameter));
    }
    if (parameters.empty()) continue;
    const std::string call = call_with(callee, parameters.size() - 1, *fitting(callee, parameters.back()), false);
    INFO(call);
    CHECK_FALSE(outcome(s, call, &left_out).empty());
  }
}

TEST_CASE("each function declares what each of its parameters takes") {
  Session s;
  for (const Callee& callee : all_functions(s)) {
    for (const ParameterInfo& parameter : callee.signature->parameters) {
      INFO(callee.name << ": " << *parameter.name);
      CHECK(parameter.type.has_value());
    }
    INFO(callee.name);
    CHECK((!callee.signature->rest || callee.signature->rest->type));
  }
}

TEST_CASE("an argument that its parameter does not take is refused by name, with the caret under it") {
  Session s;
  size_t refused = 0;
  for (const Callee& callee : functions(s)) {
    const auto& parameters = callee.signature->parameters;
    for (size_t at = 0; at < parameters.size(); ++at) {
      for (const char* value : kValues) {
        const Value given = s.engine.run("value.tsl", value);
        if (fits(parameters[at], given)) continue;
        const bool is_number = given.is(Tag::tensor) && given.tensor().rank() == 0;  // which is read where one fits
        if (is_number && fits(parameters[at], s.engine.run("value.tsl", std::string(value) + ".item()"))) continue;
        for (const bool by_name : {false, true}) {
          const std::string call =
              "import nn\nimport optim\nimport science\nimport plot\nimport world\nimport parallel\n" +
              call_with(callee, at, value, by_name);
          INFO(call);
          const Error e = s.error(call);
          const std::string name = callee.name.substr(callee.name.find('.') + 1);
          CHECK(e.message.find("'" + *parameters[at].name + "' of " + name + " must be ") == 0);
          CHECK(e.message.find(describe(*parameters[at].type) + ", not ") != std::string::npos);
          const std::string& text = s.engine.sources().get(e.span.source).text();
          CHECK(text == call);
          CHECK(text.substr(e.span.begin, e.span.end - e.span.begin) == value);
          ++refused;
        }
      }
    }
  }
  CHECK(refused > 5000);
}

TEST_CASE("an error of a function in TSL does not speak of its insides") {
  Session s;
  for (const Callee& callee : functions(s)) {
    for (size_t at = 0; at < callee.signature->parameters.size(); ++at) {
      for (const char* value : kValues) {
        const std::string call =
            "import nn\nimport optim\nimport science\nimport plot\nimport world\nimport parallel\n" +
            call_with(callee, at, value, true);
        INFO(call);
        try {
          s.engine.run("call.tsl", call);
        } catch (const Failure& failure) {
          const Error& e = failure.error();
          CHECK(e.message.find("has no field") == std::string::npos);
          CHECK(e.message.find("does not take") == std::string::npos);
          CHECK(s.engine.sources().get(e.span.source).name() == "call.tsl");
          CHECK(s.line_of(e) == 7);
        }
      }
    }
  }
}

TEST_CASE("an argument given by name means what it means by position, or is refused") {
  Session s;
  for (const Callee& callee : functions(s)) {
    const auto& parameters = callee.signature->parameters;
    for (size_t at = 0; at < parameters.size(); ++at) {
      for (const char* value : kValues) {
        const std::string named = call_with(callee, at, value, true);
        const std::string positional = call_with(callee, at, value, false);
        // The second operand by position; the axis by name.
        const bool is_operand = (callee.name == "max" || callee.name == "min") && *parameters[at].name == "axis" &&
                                std::string_view(value).substr(0, 6) == "tensor";
        const std::string result = outcome(s, named);
        if (is_operand || result.empty()) continue;
        INFO(named << " gives " << result);
        CHECK(result == outcome(s, positional));
      }
    }
  }
}

TEST_CASE("axes, shapes and counts given as tensors mean the ints in them, or are refused") {
  Session s;
  for (const Callee& callee : functions(s)) {
    const auto& parameters = callee.signature->parameters;
    for (size_t at = 0; at < parameters.size(); ++at) {
      const std::string key = callee.name + "." + *parameters[at].name;
      if (!kCounts.count(*parameters[at].name) || kNumbers.count(key)) continue;
      for (const auto& [tensor, ints] : kSame) {
        const std::string call = call_with(callee, at, tensor, true), result = outcome(s, call);
        if (result.empty()) continue;
        INFO(call << " gives " << result);
        CHECK(std::any_of(ints.begin(), ints.end(),
                          [&](const char* value) { return result == outcome(s, call_with(callee, at, value, true)); }));
      }
      const bool is_axis = parameters[at].name->substr(0, 4) == "axis" && callee.name != "nn.flatten";
      INFO(key);
      if (is_axis) CHECK(outcome(s, call_with(callee, at, "tensor([[1]])", true)).empty());
    }
  }
}

TEST_CASE("reductions and statistics take axes as an int, a list or an integer tensor") {
  Session s;
  const std::string x = "import nn\nlet x = reshape(arange(24) * 1.0, [2, 3, 4])\n";
  for (const char* name : {"sum", "prod", "max", "min", "mean", "var", "std", "norm", "logsumexp", "softmax",
                           "log_softmax", "layer_norm", "rms_norm", "argmax", "argmin", "cumsum", "cumprod", "sort"}) {
    CAPTURE(name);
    const auto by = [&](const std::string& axis) { return s.eval(x + "repr(" + name + "(x, axis: " + axis + "))"); };
    CHECK(by("tensor(1)") == by("1"));
    CHECK(by("tensor([-1])") == by("-1"));
  }
  for (const char* name : {"sum", "prod", "max", "min", "mean", "var", "std", "norm", "logsumexp", "softmax", "any"}) {
    CAPTURE(name);
    const auto by = [&](const std::string& axis) { return s.eval(x + "repr(" + name + "(x, axis: " + axis + "))"); };
    CHECK(by("tensor([0, 2])") == by("[0, 2]"));
    // Another operand of max and min may be any tensor, so that their own code checks an axis.
    const bool is_operand = name == std::string("max") || name == std::string("min");
    const std::string error =
        is_operand ? "type: axis must be" : std::string("type: 'axis' of ") + name + " must be integers";
    CHECK(s.error_text(x + "repr(" + name + "(x, axis: tensor([[1]])))").find(error) == 0);
    CHECK(s.error_text(x + "repr(" + name + "(x, axis: tensor(1.0)))").find(error) == 0);
  }
  CHECK(s.eval("sum(ones([2, 3]), axis: tensor(1)).tolist()") == "[3.0, 3.0]");
  CHECK(s.eval("max(ones([2]), tensor(2.0)).tolist()") == "[2.0, 2.0]");  // by position: another operand
  CHECK(s.eval("grad(max)(tensor([1.0, 3.0]), axis: tensor(0)).tolist()") == "[0.0, 1.0]");
  CHECK(s.eval("value_and_grad(fn(v, axis) = max(v, axis: axis))(tensor([1.0, 3.0]), axis: tensor(0))[1].tolist()") ==
        "[0.0, 1.0]");
  for (const char* call : {"max(3, \"a\")", "max(3, [5])", "max(3, nil)", "sum(3, 4)", "sum(3, axis: 4)",
                           "prod(ones([2]), tensor(0.5))", "max(3, axis: 0)", "sum([1, 2], keepdims: true)",
                           "arange(start: 5)", "range(start: 5)", "randint(low: 5, high: [2])"}) {
    CAPTURE(call);
    CHECK_FALSE(s.error_text(call).empty());
  }
}

TEST_CASE("shapes are ints, lists or integer tensors") {
  Session s;
  for (const char* call : {"zeros(S)", "ones(S)", "full(S, 1)", "reshape(arange(6), S)", "expand(arange(3), S)",
                           "permute(ones([3, 1, 2]), S2)", "tile(arange(2), S)", "split(arange(5), S)[1]",
                           "squeeze(ones([1, 1, 3]), S3)", "roll(reshape(arange(6), 2, 3), S, axis: S3)"}) {
    const auto with = [&](const char* a, const char* b, const char* c) {
      return s.eval(std::string("let (S, S2, S3) = (") + a + ", " + b + ", " + c + ")\nrepr(" + call + ")");
    };
    CAPTURE(call);
    CHECK(with("tensor([2, 3])", "tensor([2, 0, 1])", "tensor([0, 1])") == with("[2, 3]", "[2, 0, 1]", "[0, 1]"));
  }
}

TEST_CASE("the caret is under the argument, in every form of call and on every tier") {
  const std::string head =
      "import nn\nimport optim\nlet x = ones([3, 4])\nfn g(a, k: int | nil = nil, p: float in 0..=1 = 0.5) = a\n"
      "fn h(a: f32[n, m], b: [m]) = a @ b\n@compile fn c(a, k: int | nil = nil) = a\nfn inner(a) = flatten(a, 7)\n"
      "let r = {g: g, flat: flatten}\n";
  // The call, and the text under the caret.
  const std::pair<const char*, const char*> cases[] = {
      {"g(x, 1.5)", "1.5"},
      {"g(x, p: 1 + 1, k: 1)", "1 + 1"},
      {"x |> g(\"a\")", "\"a\""},
      {"x |> g(k: \"a\")", "\"a\""},
      {"r.g(x, [1])", "[1]"},
      {"r.g(x, k: [1])", "[1]"},
      {"c(x, k: x)", "x"},
      {"h(x, ones([3]))", "ones([3])"},
      {"h(b: ones([4]), a: 3)", "3"},
      {"flatten(x, 7)", "7"},
      {"x.flatten(0, 7)", "7"},
      {"x.flatten(end: 7)", "7"},
      {"\"a\".flatten(0)", "\"a\""},
      {"r.flat(x, 7)", "7"},
      {"r.flat(x, end: 7)", "7"},
      {"nn.flatten(x, axis: 9)", "9"},
      {"nn.flatten(x, 9)", "9"},
      {"nn.mse(x, ones([3]))", "ones([3])"},
      {"nn.conv2d(ones([1, 1, 4, 4]), ones([1, 1, 2, 2]), padding: [1, 2, 3])", "[1, 2, 3]"},
      {"optim.adam(x, ones([3]), optim.adam_init(x), lr: 0.1)", "ones([3])"},
      {"optim.adam(x, opt: optim.adam_init(x), g: ones([3]))", "ones([3])"},
      {"sum(x, 9)", "9"},
      {"x.sum(axis: [0, 9])", "[0, 9]"},
      {"transpose(x, 0, 9)", "9"},
      {"zeros([2], device: \"gpu\")", "\"gpu\""},
      {"minimum(x, [0, 2])", "[0, 2]"},
      {"x.clamp(min: [0, 2])", "[0, 2]"},
      {"map(fn(v) = flatten(v, 9), [x])", "9"},
      {"[x] |> map(fn(v) = nn.flatten(v, 9))", "9"},
      {"inner(x)", "7"},
      {"map(flatten, [x, 5])", "map(flatten, [x, 5])"},
      {"optim.sgd_init(5)", "5"},
  };
  for (const bool compile_all : {false, true}) {
    EngineOptions options;
    options.compile_all = compile_all;
    for (const auto& [call, text] : cases) {
      Session s(options);
      CAPTURE(call, compile_all);
      const Error e = s.error(head + call);
      const std::string& source = s.engine.sources().get(e.span.source).text();
      CHECK(source.substr(e.span.begin, e.span.end - e.span.begin) == text);
      CHECK(s.engine.sources().get(e.span.source).name() == "test.tsl");
    }
  }
}
