" Colours for TSL. tests/editors/words.py TSL --update writes the lists of words.
if exists("b:current_syntax")
  finish
endif

syn match tslKeyword "^\s*use\ze\s\+f\d"
" words: keywords
syn keyword tslKeyword and as break catch continue else finally fn for from if import
syn keyword tslKeyword in let not or return try var while
" words: constants
syn keyword tslConstant false nil true
" words: types
syn keyword tslType bf16 bool f16 f32 f64 i16 i32 i64 i8 u16 u32 u64
syn keyword tslType u8
" words: builtins
syn keyword tslBuiltin abs acos acosh add all allclose aminmax angle any append_text arange argmax
syn keyword tslBuiltin argmin args argsort argwhere array_split asin asinh assert associative_scan atan atan2 atanh
syn keyword tslBuiltin atleast_1d atleast_2d atleast_3d attention average avg_pool1d avg_pool2d avg_pool3d bartlett begin_rows begin_save bench
syn keyword tslBuiltin bernoulli beta betaln bincount bit_and bit_not bit_or bit_xor blackman block_diag breakpoint broadcast_rank
syn keyword tslBuiltin broadcast_tensors bucketize c128 c64 capitalize categorical cbrt cdist ceil center cho_solve choice
syn keyword tslBuiltin cholesky chr chunk clamp clock comb complex concat cond conj conv conv2d
syn keyword tslBuiltin conv_transpose convolve convolve2d copysign corrcoef correlate cos cosh count count_nonzero counters cov
syn keyword tslBuiltin cross cross_entropy cummax cummin cumprod cumsum cumulative_trapezoid dct decode default_dtype deg2rad det
syn keyword tslBuiltin detrend diag diagflat diagonal dict diff difference digamma digitize div dot dstack
syn keyword tslBuiltin eig eig_of_pairs eig_pairs eigh eigh_of_pairs eigvals eigvalsh einsum embedding empty encode end_rows
syn keyword tslBuiltin end_save endswith enumerate env eprint eq erf erfc erfinv error exchange_ranks exists
syn keyword tslBuiltin exit exp exp2 expand explain expm expm1 eye factorial fft fft2 fft_pairs
syn keyword tslBuiltin fftfreq fftn fftshift filter find findall finfo firwin flash_attention flatten flatten_tree flip
syn keyword tslBuiltin float floor floordiv fmax fmin fmod fold_in format_time frac from_json fromfunction full
syn keyword tslBuiltin full_like gamma gather gather_ranks gcd ge gelu gelu_tanh geomspace get grad gradient
syn keyword tslBuiltin gt hamming hann has heaviside help hessian histogram hstack hvp hypot i0
syn keyword tslBuiltin i1 idct ifft ifft2 ifftn ifftshift iinfo imag inf input int interp
syn keyword tslBuiltin intersection inv irfft irfft2 irfft_pairs irfftn is_complex isalnum isalpha isclose isdigit isfinite
syn keyword tslBuiltin isin isinf islower isnan isspace istft isupper item items j0 j1 jacobian
syn keyword tslBuiltin join jvp kaiser keys kron kthvalue layer_norm lcm le left_shift len lerp
syn keyword tslBuiltin lexsort lgamma line_starts lines linspace list list_files ljust load load_rows load_shapes log
syn keyword tslBuiltin log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp logical_not logit logm logspace logsumexp
syn keyword tslBuiltin lower lstrip lstsq lt lu lu_factor lu_of_pairs lu_solve map matmul matrix_norm matrix_power
syn keyword tslBuiltin matrix_rank max max_pool1d max_pool2d max_pool3d max_ranks maximum mean medfilt median meshgrid min
syn keyword tslBuiltin minimum mkdir mod mode modf moveaxis mul multi_dot multinomial nan nan_to_num nanargmax
syn keyword tslBuiltin nanargmin nanmax nanmean nanmedian nanmin nanprod nanquantile nanstd nansum nanvar ne neg
syn keyword tslBuiltin nextafter nonzero norm now null_space one_hot ones ones_like ord orth outer pad
syn keyword tslBuiltin parse_args parse_time partition percentile permute pi pinv pixel_shuffle pixel_unshuffle polar polyfit polygamma
syn keyword tslBuiltin polyval pow print prod profile progress ptp qr qr_of_pairs quantile rad2deg rand
syn keyword tslBuiltin rand_like randint randn randn_like random_beta random_binomial random_bits random_cauchy random_chisquare random_dirichlet random_exponential random_gamma
syn keyword tslBuiltin random_geometric random_gumbel random_laplace random_logistic random_lognormal random_multivariate_normal random_negative_binomial random_normal random_poisson random_state random_student_t random_truncated_normal
syn keyword tslBuiltin random_uniform random_weibull randperm range ravel_multi_index read_bytes read_lines read_text real reciprocal recompile reduce
syn keyword tslBuiltin relu remat remove removeprefix removesuffix repeat replace repr resample resample_poly reshape reversed
syn keyword tslBuiltin rfft rfft2 rfft_pairs rfftfreq rfftn rfind right_shift rjust rms_norm roll roots rot90
syn keyword tslBuiltin round rsqrt rstrip save savgol_filter scatter scatter_add scatter_reduce search searchsorted seed segment_max
syn keyword tslBuiltin segment_mean segment_min segment_prod segment_sum set set_random_state shift_ranks shuffle sigmoid sign signbit silu
syn keyword tslBuiltin simpson sin sinc sinh sleep slogdet softmax softplus solve solve_triangular sort sorted
syn keyword tslBuiltin split sqrt sqrtm square squeeze stack startswith std stft stop_gradient str strip
syn keyword tslBuiltin sub substitute sum sum_ranks sum_scatter_ranks svd svd_of_pairs svdvals take tan tanh tensor
syn keyword tslBuiltin tensordot tile title to to_json toeplitz tolist topk trace transpose trapezoid tree_map
syn keyword tslBuiltin tri tril triu trunc type unflatten unflatten_tree union unique unique_consecutive unravel_index unsqueeze
syn keyword tslBuiltin unstack unwrap upper value_and_grad values vander vecdot view_as_complex view_as_real vjp vmap vstack
syn keyword tslBuiltin wait where windows with_range with_vjp world_ending world_place write_bytes write_text xlog1py xlogy zeros
syn keyword tslBuiltin zeros_like zeta zip
syn match tslBuiltin "\<\%(contains\|fold\)\>"
" end of words

syn match tslMember "\%(\.\)\@1<=\h\w*"
syn match tslFunctionName "\%(\<fn\s\+\)\@<=[^ (]\+"
syn match tslAttribute "^\s*@\h\w*"
syn match tslNumber "\<\d[0-9_]*\%(\.\d[0-9_]*\)\?\%([eE][+-]\?\d[0-9_]*\)\?\w*\>"
syn match tslNumber "\<0[xXbBoO]\w*\>"
syn match tslComment "#.*$" contains=tslTodo,@Spell
syn match tslDoc "##\%(#\)\@!.*$" contains=tslTodo,@Spell
syn keyword tslTodo TODO FIXME contained

syn match tslEscape "\\\%(u{\x\+}\|x\x\x\|.\)" contained
syn match tslEscape "{{\|}}" contained
syn region tslHole matchgroup=tslEscape start="{{\@!" end="}" contained contains=TOP
syn region tslString start=+"+ skip=+\\.+ end=+"\|$+ contains=tslEscape,@Spell
syn region tslString start=+\<f"+ skip=+\\.+ end=+"\|$+ contains=tslEscape,tslHole,@Spell
syn region tslString start=+\<r"+ skip=+\\.+ end=+"\|$+
syn region tslString start=+"""+ skip=+\\.+ end=+"""+ contains=tslEscape,@Spell
syn region tslString start=+\<f"""+ skip=+\\.+ end=+"""+ contains=tslEscape,tslHole,@Spell
syn region tslString start=+\<r"""+ skip=+\\.+ end=+"""+

hi def link tslKeyword Keyword
hi def link tslConstant Constant
hi def link tslType Type
hi def link tslBuiltin Function
hi def link tslFunctionName Function
hi def link tslAttribute PreProc
hi def link tslNumber Number
hi def link tslComment Comment
hi def link tslDoc SpecialComment
hi def link tslTodo Todo
hi def link tslEscape SpecialChar
hi def link tslString String

let b:current_syntax = "tsl"
