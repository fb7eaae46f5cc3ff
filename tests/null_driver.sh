#!/usr/bin/env bash
# null_driver.sh TSL DRIVER_FOLDER CUSOLVER_FOLDER: the program where there is a driver and, as it seems, a GPU: which device is the default,
# what is refused, and how large tensors may be. Kernels compile and do not run.
set -uo pipefail
tsl=$1 driver=$2 cusolver=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TSL_CACHE_DIR=$folder/cache
failures=0

# run SCRIPT [OPTION...]: what the program prints, on both streams.
run() {
  LD_LIBRARY_PATH=$driver${libraries:+:$libraries} "$tsl" "${@:2}" -e "$1" 2>&1
}
expect() {  # expect PATTERN TEXT
  # shellcheck disable=SC2053
  [[ $2 == $1 ]] && return
  printf 'expected: %s\ngot: %s\n' "$1" "$2"
  failures=$((failures + 1))
}
readonly where='print(zeros([2]).device)'

reason=$(NULL_DRIVER_COMPUTE=90 run '0' --device cuda) || { echo "skipped: $reason"; exit 77; }

# The GPU is the default, also if the disk says that NVRTC is there.
expect 'cuda:0' "$(run "$where")"
expect 'cuda:0' "$(run "$where")"
expect 'cuda:0' "$(NULL_DRIVER_COMPUTE=75 run "$where")"

# Rows of a file are where tensors are made, wherever their places are.
rows="save(\"$folder/rows.npy\", ones([4, 2], device: \"cpu\")); print(load_rows(\"$folder/rows.npy\", arange(2, device: \"cpu\")).device)"
expect 'cuda:0' "$(run "$rows" --no-compile)"
expect 'cuda:0' "$(run "$rows" --compile)"

# A GPU or a driver that is too old is as good as none; one line says so, unless a device was asked for.
line='tsl: tensors are on the CPU: null is too old: it is of compute capability 7.0, and TSL needs 7.5 or newer*'
expect "$line"$'\ncpu' "$(NULL_DRIVER_COMPUTE=70 run "$where")"
expect 'cpu' "$(NULL_DRIVER_COMPUTE=70 run "$where" --device cpu)"
line='tsl: tensors are on the CPU: the NVIDIA driver is too old: it is for CUDA 11.8, and TSL needs one for CUDA 12.1*'
expect "$line"$'\ncpu' "$(NULL_DRIVER_CUDA=11080 run "$where")"
expect "$line"$'\ncpu\ncpu' "$(NULL_DRIVER_CUDA=11080 run "$where; $where")"
expect 'cpu' "$(LD_LIBRARY_PATH='' "$tsl" -e "$where" 2>&1)"  # without a driver nothing is said
expect '*null is too old: it is of compute capability 7.0, and TSL needs 7.5 or newer*' \
  "$(NULL_DRIVER_COMPUTE=70 run "$where" --device cuda)"

# Where NVRTC does not serve, one line says why, for each process.
line='tsl: tensors are on the CPU, not on cuda:0: NVRTC * compiles for sm_* to sm_*, not for sm_990: install a newer one*'
expect "$line"$'\ncpu' "$(NULL_DRIVER_COMPUTE=990 run "$where")"
expect 'error\[device\]: NVRTC * not for sm_990*' "$(NULL_DRIVER_COMPUTE=990 run "$where" --device cuda)"
expect 'cpu' "$(NULL_DRIVER_COMPUTE=990 run "$where" --device cpu)"
mkdir "$folder/broken"
libm=$(ldd "$tsl" | awk '$1 ~ /^libm\.so/ { print $3 }')
for name in libnvrtc.so libnvrtc.so.12 libnvrtc.so.13; do cp "$libm" "$folder/broken/$name"; done
libraries=$folder/broken
expect 'tsl: tensors are on the CPU, not on cuda:0: *libnvrtc.so* has no function nvrtcVersion: it is too old*'$'\ncpu' \
  "$(run "$where")"
expect 'cpu' "$(run "$where" --device cpu)"
libraries=

# Tensors may be as large as the GPU, and no larger, eagerly and compiled.
export NULL_DRIVER_MEMORY=$((141 << 30))
for options in "" --compile; do
  # shellcheck disable=SC2086
  expect '(107374182400,)' "$(run 'print(zeros([100 * 1024 * 1024 * 1024], dtype: u8).shape)' $options)"
  # shellcheck disable=SC2086
  expect '*fill: u8\[161061273600\] needs 150.0 GiB, but a tensor may take 141.0 GiB*' \
    "$(run 'print(zeros([150 * 1024 * 1024 * 1024], dtype: u8).shape)' $options)"
  # shellcheck disable=SC2086
  expect $'(7,)\n(107374182400,)' "$(run '@compile fn f(n) { return zeros([n], dtype: u8) + ones([n], dtype: u8) }
    f(3); f(5); print(f(7).shape); print(f(100 * 1024 * 1024 * 1024).shape)' $options)"
done

# What is logged of a GPU: generated code, and graphs.
loop='@compile fn f(x) = x * 2.0
  for i in 0..4 { f(ones([8])) }'
expect '*\[code\] f:1#0: k_mul__*: * lines*' "$(run "$loop" --log code)"
expect '*\[code\] f:1#0: extern "C" __global__ void*' "$(run "$loop" --log code:debug)"
# TSL's own kernels of ops have code, too, and take registers and shared memory.
attend='@compile fn f(x) = attention(x, x, x)
  for i in 0..3 { f(bf16(ones([2, 4, 64, 64]))) }'
expect '*\[code\] f:1#0: k_attention_*: * lines*' "$(run "$attend" --log code)"
expect '*\[perf\] f:1#0: k_attention_*blocks*threads*registers*' "$(run "$attend" --log perf:debug)"
expect '\[graphs\] f:1#0: a graph is made, of 1 call' "$(run "$loop" --log graphs --warn off)"
# What explain says of the graph that launches a plan's kernels.
explained() { run "explain()
  $1
  print(explain())" --warn off "${@:2}"; }
once=${loop/0..4/0..1}
expect '*CUDA graph: 1 call, made 1 time*' "$(explained "$loop")"
expect '*no CUDA graph: it has run once, and the second run makes it*' "$(explained "$once")"
expect '*no CUDA graph: --cuda-graphs is off*' "$(explained "$loop" --cuda-graphs off)"
printf '%s\n' "$loop" >"$folder/loop.tsl"
told=$(LD_LIBRARY_PATH=$driver TSL_CUPTI=off "$tsl" explain "$folder/loop.tsl" 2>&1)
expect '*0 CUDA graphs launched*CUDA graph: 1 call, not launched: the profile times its calls one by one, since *' "$told"
[[ $told != *'made 1 time'* ]] || expect 'a graph that is not launched is not made' "$told"
expect '*no CUDA graph: its function says graphs: "off"*' "$(explained "${loop/@compile/@compile(graphs: \"off\")}")"

# What runs a factorisation: a library, in a graph if it can be recorded, or the host where the library is missing or does
# not start.
of_cholesky='@compile fn f(x) = cholesky(x * 2.0) + 1.0
  for i in 0..3 { f(eye(3)) }'
of_solve=${of_cholesky/cholesky(x \* 2.0)/solve(x * 2.0, x)}
of_lu=${of_cholesky/cholesky(x \* 2.0)/lu_factor(x * 2.0)[0]}
of_qr=${of_cholesky/cholesky(x \* 2.0)/qr(x * 2.0)[0]}
of_svd=${of_cholesky/cholesky(x \* 2.0)/svd(x * 2.0)[0]}
of_eigh=${of_cholesky/cholesky(x \* 2.0)/eigh(x * 2.0)[1]}
libraries=$cusolver
expect '*cholesky (cuSOLVER)*CUDA graph: 4 calls, made 1 time*' "$(explained "$of_cholesky")"
expect '*eigh (cuSOLVER)*CUDA graph: 2 calls, made 2 times, * 1 op beside it*' "$(explained "$of_eigh")"
expect '*solve (cuSOLVER)*CUDA graph: * made 1 time*' "$(explained "$of_solve")"
expect '*lu (cuSOLVER)*CUDA graph: * made 1 time*' "$(explained "$of_lu")"
expect '*qr (cuSOLVER)*CUDA graph: * made 1 time*' "$(explained "$of_qr")"
expect '*svd (cuSOLVER)* 1 op beside it*' "$(explained "$of_svd")"
expect '*cholesky (cuSOLVER)*' "$(run "$of_cholesky" --profile --rows all)"
expect '*shape*' "$(run 'print("shape", cholesky(zeros([3, 0, 0])).shape, eigh(zeros([0, 2, 2]))[1].shape)')"
libraries=
on_host='@compile fn f(x) = cholesky(x) + 1.0
  for i in 0..3 { f(tensor([[4.0]])) }'
expect '*cholesky (on the host)*1 op beside it*' "$(explained "$on_host")"

# What was measured once is kept for later processes. The dump's kernels run alone under their names.
unset NULL_DRIVER_MEMORY
tuned='@compile(mode: "max-autotune") fn f(x) = x * 2.0 + 1.0
  f(zeros([100000])); print(counters().kernels_compiled > 0)'
expect 'true' "$(run "$tuned")"
expect 'false' "$(run "$tuned")"
run '@compile fn f(x) = x * 2.0 + 1.0
  f(zeros([50]))' --dump "$folder/dump" >/dev/null
alone=$(LD_LIBRARY_PATH=$driver "$tsl" bench --seconds 0 --sweep "$folder/dump" 2>&1)
expect '*alone, on cuda:0 (null)*k_mul_add__*1 x 128 threads, * registers*' "$alone"
expect '*pointwise_threads=256*' "$alone"
# A kernel's file compiles alone, and an edited one runs beside the original.
cu=$(find "$folder/dump" -name 'k_*.cu' | head -n 1)
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [[ -x $nvcc ]]; then
  options=$(sed -n 's/.*`nvcc \(.*\)`.*/\1/p' "$cu")
  # shellcheck disable=SC2086
  expect '' "$("$nvcc" $options -arch=sm_90 -o "$folder/alone.cubin" "$cu" 2>&1)"
fi
bench() { LD_LIBRARY_PATH=$driver "$tsl" bench --seconds 0 "$folder/dump" "$@" 2>&1; }
[[ $(bench) != *edited* ]] || expect 'a file as it was dumped is not edited' "$(bench)"
cp "$cu" "$folder/original.cu"
sed -i '$s/$/  \/\/ the same/' "$cu"
expect '*edited, * times as fast; *' "$(bench)"
expect '*"different"*' "$(bench --json)"
echo 'no C++' >>"$cu"
expect '*edited: NVRTC * rejects the edited code for sm_90:*' "$(bench)"
cp "$folder/original.cu" "$cu"
expect 'error\[device\]: *the dump is of cuda:0; with --device cpu its kernels run on the CPU*' \
  "$(NULL_DRIVER_COMPUTE=70 LD_LIBRARY_PATH=$driver "$tsl" bench "$folder/dump" 2>&1)"
# All kernels that run an op run side by side, and its definition.
run "${attend/0..3/0..1}" --dump "$folder/attend" >/dev/null
expect '*not by groups of warps: *by warps, which is taken*by plain, * times as fast; *by definition*' \
  "$(LD_LIBRARY_PATH=$driver "$tsl" bench --seconds 0 "$folder/attend" 2>&1)"

((failures == 0)) && echo passed
