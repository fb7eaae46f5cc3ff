"""An engine: runs source text, calls functions, and turns values of Python into values of TSL and back."""
import collections
import contextlib
import json
import os
import sys
from ctypes import addressof, byref, c_bool, c_char, c_double, c_int, c_int64, c_size_t, c_ssize_t, c_void_p, sizeof

from . import _dlpack, _library as lib, _operators
from ._memory import Buffer, NoBuffer, held, hold, no_dtype, no_value, release_held, require_numbers
from ._references import EngineBase, Use, refuse
from ._signals import watched
from ._values import Function, Tensor, Value

_calls = lib.calls


class Engine(EngineBase):
    """One running TSL, with its variables, functions and limits. Used by one thread at a time.

    capabilities: what scripts may do besides computing: "files", "environment", "clock", "compile", "gpu", "input".
    device: where tensors are made: "cpu", "cuda", "cuda:1"; needs "gpu".
    threads: that compute; 0: one per core. seed: of random numbers.
    Limits, where 0 is the default: memory_limit (bytes of tensors), host_memory_limit (bytes of strings, lists, records and
    functions), element_limit (elements of a tensor), source_limit (bytes of a text), depth_limit (calls within calls), and
    for each run() or call: step_limit (calls and iterations), time_limit (seconds).
    output, diagnostics: are called with what scripts print, and with warnings and logs; by default sys.stdout and sys.stderr.
    progress: is called with how far loops over progress() are, as the last line of a terminal; by default nothing is shown.
    logs: what is logged to `diagnostics`, as by `tsl --log`: "recompiles,perf".
    load_module(name, importer): returns the source of a module for `import`, or None if it has none.
    options: of the program `tsl`, by their names there: {"numerics": "fast", "tf32": True, "cuda-graphs": False}. Reports that
    they ask for ("profile", "dump", ...) are written by write_reports() and close().
    rank, ranks, rendezvous: the place of this process among those that run one program, and a new folder that they share, for
    `import world`; local_rank, local_ranks: among those of this host, where there are several. By default the environment's.
    """

    def __init__(self, capabilities=("compile",), *, device="cpu", threads=0, memory_limit=0, source_limit=0, step_limit=0,
                 time_limit=0.0, seed=0, output=None, diagnostics=None, host_memory_limit=0, element_limit=0, depth_limit=0,
                 load_module=None, logs="", options=None, rank=0, ranks=0, local_rank=0, local_ranks=0, rendezvous="",
                 progress=None):
        config = lib.Config()
        self._process = os.getpid()
        self._hold(lib.EngineHandle(0))
        self._use = Use(refuse)
        self._released = collections.deque()  # handles that could not be released yet
        self._functions = []
        self._expressions = {}  # the handles of functions of TSL that this package calls, by their text
        self._types = {}  # by class: what has the address that stands for it
        self._cause = None  # the exception of a native function
        self._ending = None  # what ends a run and is no error of the script, such as KeyboardInterrupt
        self._is_interrupted = False  # by a signal, or for `_ending`
        self._check(_calls.config_init_sized(byref(config), sizeof(config)))
        if isinstance(capabilities, str):
            raise TypeError('capabilities must be a tuple of names, such as ("compile",)')
        for name in capabilities:
            if name not in lib.CAPABILITIES:
                raise ValueError(f"no such capability: {name!r} (there are: {', '.join(lib.CAPABILITIES)})")
            config.capabilities |= lib.CAPABILITIES[name]
        if "gpu" in capabilities and sys.prefix != sys.base_prefix:
            os.environ.setdefault("VIRTUAL_ENV", sys.prefix)  # where TSL looks for NVIDIA's packages
        (config.device, self._device), (config.logs, _held) = lib.string(device, "device"), lib.string(logs, "logs")
        config.threads, config.depth_limit = lib.whole(threads, "threads", bits=32), lib.whole(depth_limit, "depth_limit", bits=32)
        for name, number in (("seed", seed), ("memory_limit", memory_limit), ("source_limit", source_limit),
                             ("step_limit", step_limit), ("host_memory_limit", host_memory_limit), ("element_limit", element_limit)):
            setattr(config, name, lib.whole(number, name))
        for name, number in (("rank", rank), ("ranks", ranks), ("local_rank", local_rank), ("local_ranks", local_ranks)):
            setattr(config, name, lib.whole(number, name, bits=32))
        config.rendezvous, _held_folder = lib.string(rendezvous, "rendezvous")
        config.time_limit = time_limit
        options, _held_too = lib.options(options or {})
        config.options, config.option_count = options, len(options)
        self._output = config.output = self._writer(output or (lambda text: sys.stdout.write(text)), "output")
        self._diagnostics = config.diagnostics = self._writer(diagnostics or (lambda text: sys.stderr.write(text)), "diagnostics")
        if progress:
            self._progress = config.progress = self._writer(progress, "progress")
        if load_module:
            lib.require_callable(load_module, "load_module")
            self._load_module = config.load_module = self._loader(load_module)
        self._check(_calls.engine_create(byref(config), byref(self._handle)))
        self._hold(self._handle)
        self._make_operators()

    def close(self):
        """Ends the engine, after writing its reports. Its tensors and functions cannot be used any more."""
        if not self._handle.id:
            return
        with self._use:
            handle = self._handle
            self._hold(lib.EngineHandle(0))
            status = _calls.engine_destroy(handle)
            if status == lib.MISUSE:  # it is running
                self._hold(handle)
            self._check(status)

    def _hold(self, handle):
        self._handle, self._id = handle, handle.id

    def __enter__(self):
        return self

    def __copy__(self):
        raise TypeError("an engine cannot be copied: it has one state, which all its names share")

    def __deepcopy__(self, _memo):
        return self.__copy__()

    def __reduce__(self):
        raise TypeError("an engine cannot be pickled: make one in each process")

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        try:
            if self._process == os.getpid():  # a fork leaves the engine to its parent
                self.close()
        except Exception:  # it was never made, runs, or cannot write a report: close() would say so
            pass

    def run(self, source, name="<python>", *, convert=True):
        """Runs source text, in which what earlier runs declared is visible. Returns the last expression's value; without
        `convert` as a tsl.Value, whatever it is."""
        (name, _held), (source, _held_too) = lib.string(name, "name"), lib.string(source, "source")
        return self._returned(_calls.run, name, source, convert=convert)

    def run_file(self, path):
        """Runs a file likewise; relative imports start at its folder."""
        path, _held = lib.string(os.fspath(path))
        return self._returned(_calls.run_file, path)

    def get(self, name):
        """Reads a variable or a function."""
        text, _held = lib.string(name, "name")
        return lib.fast.get(self, name) if lib.fast else self._to_python(self._made(_calls.get, text))

    def set(self, name, value):
        """Assigns a variable, which is declared if there is none of this name."""
        name, _held = lib.string(name, "name")
        handle = self._to_handle(value)
        try:
            self._do(_calls.set, name, handle)
        finally:
            self._release(handle)

    def call(self, function, *arguments, **named):
        """Calls a function, which is given by its name or as a Function. Arrays among the arguments are copied."""
        function = self._function(function)  # which keeps the handle
        return self._call(function._handle, arguments, named)

    def tensor(self, source):
        """Makes a tensor of a copy of an array: anything with the buffer protocol or __dlpack__()."""
        return self._tensor(source, wrap=False)

    def wrap(self, source):
        """Makes a tensor of an array's memory, without a copy. The array must not be changed while anything of the engine
        refers to it. Strides that TSL does not have (negative ones) are copied, though."""
        return self._tensor(source, wrap=True)

    def define(self, signature, function=None, doc="", *, pure=False, derivative=None):
        """Defines a function of scripts: engine.define("double(x: float)", lambda x: 2 * x), or as a decorator.

        pure: the result depends on the arguments alone, so compiled code may keep the result of constant arguments.
        derivative: for grad(): is called with the arguments, the result, and the gradient of the result, and returns a list
        with the gradient of each argument, None where none flows. Without one, a gradient that reaches a tensor which the
        function returns is an error of the kind type.
        """
        if function is None:
            return lambda decorated: self.define(signature, decorated, doc, pure=pure, derivative=derivative)
        lib.require_callable(function, "function")
        info = lib.FunctionInfo()
        self._check(_calls.function_init_sized(byref(info), sizeof(info)))
        (info.signature, _held), (info.doc, _held_too) = lib.string(signature, "signature"), lib.string(doc, "doc")
        info.call, info.is_pure = self._native(function), pure
        if derivative:
            lib.require_callable(derivative, "derivative")
            info.derivative = self._native(derivative)
        self._do(_calls.define_function, byref(info))
        self._functions.append(info)  # which refers to both
        return function

    def type(self, cls, name=None):
        """Makes objects of a class values of scripts, which pass them on and give them back. Signatures and annotations name
        the class, and type(x) is that name. Also a decorator."""
        if not isinstance(cls, type):
            raise TypeError(f"a class is needed, not {type(cls).__name__}")
        address, (name, _held) = c_char(), lib.string(name or cls.__name__, "name")
        self._do(_calls.define_type, addressof(address), name)
        self._types[cls] = address
        return cls

    def interrupt(self):
        """Ends the run or call that another thread has started, or the next one, with an error of kind "interrupt"."""
        self._check(_calls.interrupt(self._handle))

    def set_stream(self, stream, device="cuda"):
        """Runs all later work for a GPU on a stream (its number, as `torch.cuda.Stream.cuda_stream` is); None: on the engine's
        own again."""
        device, _held = lib.string(device, "device")
        stream = lib.NO_STREAM if stream is None else lib.whole(stream, "stream", bits=63)
        self._do(_calls.engine_set_stream, device, stream)

    def get_stream(self, device="cuda"):
        """Returns the number of the stream on which the work for a GPU runs."""
        stream, (device, _held) = c_ssize_t(), lib.string(device, "device")
        self._do(_calls.engine_get_stream, device, byref(stream))
        return stream.value

    # Sources that are being written. Nothing of them is run.

    def check(self, source, name=""):
        """Finds what is wrong with a source: a list of dicts, empty if nothing is, as `tsl --check --json` has them."""
        (name, _held), (source, _held_too) = lib.string(name, "name"), lib.string(source, "source")
        return json.loads(self._text(_calls.check, name, source))

    def complete(self, source, offset=None):
        """Finds what could stand at a position of a source, by default at its end: a dict with "begin", where what is to be
        replaced begins, "candidates", and "call", the call whose arguments are being written, or None."""
        if not isinstance(source, str):
            raise TypeError(f"source must be a str, not {type(source).__name__}")
        offset = len(source) if offset is None else lib.whole(offset, "offset")
        if offset > len(source):
            raise IndexError(f"offset is {offset}, and the source has {len(source)} characters")
        before = len(source[:offset].encode())
        text, _held = lib.string(source, "source")
        found = json.loads(self._text(_calls.complete, text, before))
        found["begin"] = len(source.encode()[:found["begin"]].decode())
        return found

    def is_complete(self, source):
        """Says whether no more lines of a source are to follow: False within brackets."""
        (source, _held), result = lib.string(source, "source"), c_bool()
        self._do(_calls.is_complete, source, byref(result))
        return result.value

    def format(self, source, name=""):
        """Lays a source out as `tsl fmt` does."""
        (name, _held), (source, _held_too) = lib.string(name, "name"), lib.string(source, "source")
        return self._text(_calls.format, name, source)

    # What an engine has done. The dicts have the keys of what the program `tsl` writes.

    def explain(self, function=None):
        """Explains in words what was compiled, and why as it was, for a function, or for all. The first call begins to
        record, so that it explains only what is compiled later."""
        function = None if function is None else self._function(function)
        return self._text(_calls.explain, function._handle if function else lib.ValueHandle(0))

    def explain_json(self):
        """Returns all of it as a dict likewise."""
        return json.loads(self._text(_calls.explain_json))

    def memory(self, device=None):
        """Returns the bytes of tensors of a device, by default the engine's: a dict with "live", "peak" and "cached"."""
        device, _held = lib.string(device or self._device.decode())
        return json.loads(self._text(_calls.memory_json, device))

    @contextlib.contextmanager
    def profile(self):
        """Profiles what a `with` block runs: with engine.profile() as report: ...; the dict is filled at the block's end."""
        self._do(_calls.profile_start)
        report = {}
        try:
            yield report
        finally:
            report.update(json.loads(self._text(_calls.profile_stop)))

    def profile_text(self):
        """Returns the profile so far as tables, within a block of profile(), or with the option "profile"."""
        return self._text(_calls.profile_text)

    def write_reports(self):
        """Writes the reports that the options ask for, on what has run so far; close() does so, too."""
        self._do(_calls.write_reports)

    # What calls of libtsl share.

    def _do(self, call, *arguments):
        """Calls a function of libtsl, and raises its error."""
        with self._use:
            self._check(call(self._handle, *arguments))

    def _check(self, status):
        if status != lib.OK:
            cause, self._cause = self._cause, None
            raise lib.Error.of(self._handle, status) from cause

    def _returned(self, call, *arguments, convert=True):
        with self._use:
            self._catch_up()
            self._cause = None
            result = lib.ValueHandle()
            try:
                status = watched(self, call, self._handle, *arguments, byref(result))
                if self._ending is not None:
                    self._raise_ending()
            except BaseException:
                self._release(result)
                raise
            self._check(status)
            return self._to_python(result) if convert else self._to_value(result, self._kind(result))

    def _catch_up(self):
        """Releases what could not be released while another thread used the engine."""
        while self._released:
            _calls.release(self._handle, self._released.popleft())
        _dlpack.release_untaken()

    def _raise_ending(self):
        ending, self._ending = self._ending, None
        raise ending

    def _interrupt(self):
        """Interrupts the run, from any thread, and remembers it."""
        self._is_interrupted = True
        _calls.interrupt(self._handle)

    def _end_with(self, exception):
        """Ends the run, which is then to raise this."""
        self._ending = self._ending or exception
        self._interrupt()

    def _release(self, handle):
        """Releases a handle: now, or before the next call if another thread uses the engine."""
        if not self._handle.id or not handle.id:
            return
        try:
            with self._use:
                is_released = _calls.release(self._handle, handle) != lib.MISUSE
        except lib.Error:
            is_released = False
        if not is_released:
            self._released.append(handle)

    def _call(self, function, arguments, named):
        call = lib.fast.call if lib.fast else Engine._call_by_ctypes
        return call(self, function, tuple(arguments), named)

    def _call_by_ctypes(self, function, arguments, named):
        handles, named = [], named or {}
        try:
            for value in (*arguments, *named.values()):
                handles.append(self._to_handle(value))
            names = [lib.string(name) for name in named]
            return self._returned(_calls.call_named, function, (lib.ValueHandle * len(handles))(*handles), len(handles),
                                  (lib.String * len(names))(*(name for name, _ in names)), len(names))
        finally:
            for handle in handles:
                self._release(handle)

    def _make_operators(self):
        """Makes the functions of operators whose texts have names that scripts may declare, too."""
        (text, _held), (name, _held_too) = lib.string("[" + ", ".join(_operators.NAMED) + "]"), lib.string("<operators>")
        made = lib.ValueHandle()
        if _calls.run(self._handle, name, text, byref(made)) != lib.OK:  # a limit: what needs one will say so
            return
        for number, expression in enumerate(_operators.NAMED):
            self._expressions[expression] = self._made(_calls.get_item, made, number)
        self._release(made)

    def _evaluated(self, text, values):
        """Calls the function of TSL that a text is."""
        if text not in self._expressions:
            function = self.run(text)
            self._expressions[text] = self._retained(function._handle)
        return self._call(self._expressions[text], values, {})

    def _tensor_of(self, dtype, shape, data):
        """Makes a tensor of bytes in row order."""
        made = lib.TensorType(dtype=dtype, rank=len(shape), bytes=len(data))
        made.shape[: len(shape)] = shape
        return self._made(_calls.tensor_copy, byref(made), data)

    def _text(self, call, *arguments):
        text = lib.String()
        with self._use:
            self._check(call(self._handle, *arguments, byref(text)))
            return str(text)

    def _field(self, handle, name):
        name, _held = lib.string(name, "name")
        return self._returned(_calls.get_field, handle, name)

    def _native(self, function):
        def call(_engine, _user, arguments, count, result):
            try:
                values = [self._to_python(self._retained(arguments[i])) for i in range(count)]
                returned = function(*values)
                if returned is not None:
                    result[0] = self._to_handle(returned)
                return lib.OK
            except BaseException as exception:  # it becomes the cause of the script's error
                self._cause = exception
                if not isinstance(exception, Exception):
                    self._end_with(exception)
                if isinstance(exception, lib.Error) and exception.kind in lib.ENDINGS:
                    return lib.ENDINGS[exception.kind]
                message, _held = lib.string(f"{type(exception).__name__}: {exception}")
                return _calls.fail(self._handle, lib.USER_ERROR, message)
        return lib.Native(call)

    def _loader(self, load_module):
        def load(_user, name, importer, found, to):
            try:
                source = load_module(str(name), str(importer))
                if source is None:
                    return False
                text, _held = lib.string(source)
                found(to, text)
                return True
            except BaseException as exception:  # it becomes the cause of the error that no module was found
                self._cause = exception
                if not isinstance(exception, Exception):
                    self._end_with(exception)
                return False
        return lib.LoadModule(load)

    def _writer(self, write, what):
        lib.require_callable(write, what)

        def written(_user, text):
            try:
                write(str(text))
            except BaseException as exception:  # a script has no place for it
                self._end_with(exception)
        return lib.Write(written)

    # Values.

    def _made(self, call, *arguments):
        handle = lib.ValueHandle()
        self._do(call, *arguments, byref(handle))
        return handle

    def _retained(self, handle):
        return self._made(_calls.retain, handle)

    def _to_handle(self, value):
        """Makes a value of TSL; the caller releases its handle."""
        if isinstance(value, Tensor) and value._engine is not self:
            return self._array_handle(value, wrap=False)
        if isinstance(value, Value):
            if value._engine is not self:
                raise ValueError("the value is another engine's")
            return self._retained(value._handle)
        if value is None:
            return self._made(_calls.new_nil)
        if type(value) in self._types:
            return self._made(_calls.new_foreign, addressof(self._types[type(value)]), hold(value), release_held)
        if isinstance(value, bool):
            return self._made(_calls.new_bool, value)
        if isinstance(value, int):
            return self._made(_calls.new_int, lib.integer(value))
        if isinstance(value, float):
            return self._made(_calls.new_float, value)
        if isinstance(value, complex):
            return self._made(_calls.new_complex, value.real, value.imag)
        if isinstance(value, str):
            text, _held = lib.string(value)
            return self._made(_calls.new_string, text)
        if isinstance(value, range):
            value = list(value)
        if isinstance(value, (list, tuple)):
            return self._made_of_items(_calls.new_list if isinstance(value, list) else _calls.new_tuple, value)
        if isinstance(value, (set, frozenset)):
            value = dict.fromkeys(value, True)
            return self._made_of_items(_calls.new_map, value.keys(), value.values())
        if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
            return self._made_of_items(_calls.new_map, value.keys(), value.values())
        if isinstance(value, dict):
            keys = [lib.string(key, "the key of a record") for key in value]
            return self._made_of_items(lambda engine, items, *rest: _calls.new_record(
                engine, (lib.String * len(keys))(*(key for key, _ in keys)), items, *rest), value.values())
        try:
            return self._array_handle(value, wrap=False)
        except NoBuffer:
            raise no_value(value) from None

    def _made_of_items(self, call, *columns):
        """Makes a value of columns of items, which are equally long: of its items, or its keys and their values."""
        arrays, handles = [], []
        try:
            for items in columns:
                first = len(handles)
                for item in items:
                    handles.append(self._to_handle(item))
                arrays.append((lib.ValueHandle * (len(handles) - first))(*handles[first:]))
            return self._made(call, *arrays, len(arrays[0]))
        finally:
            for handle in handles:
                self._release(handle)

    def _function(self, function):
        """Returns a function, which is given by its name or as a value."""
        if isinstance(function, str):
            function = self.get(function)
        if not isinstance(function, Value):
            raise TypeError(f"a function of TSL is needed, or its name, not {type(function).__name__}")
        if function._engine is not self:
            raise ValueError("the function is another engine's")
        return function

    def _tensor(self, source, wrap):
        try:
            return Tensor(self, self._array_handle(source, wrap))
        except NoBuffer:
            raise TypeError(f"an array is needed, with the buffer protocol or __dlpack__(), not {type(source).__name__}") from None

    def _array_handle(self, source, wrap):
        try:
            if getattr(getattr(source, "dtype", None), "name", None) == "bfloat16" and hasattr(source, "view"):
                buffer = Buffer(source.view("u2"), lib.DTYPE_NAMES.index("bf16"))  # of ml_dtypes
            else:
                buffer = Buffer(source)
        except NoBuffer:
            require_numbers(source)
            if not hasattr(source, "__dlpack__"):
                array = source.__array__() if hasattr(source, "__array__") else source  # pandas and its kin
                if type(array) is type(source):
                    raise
                return self._array_handle(array, wrap)
            return self._exchanged(source, wrap)
        if wrap and buffer.is_wrappable:
            return self._made(_calls.tensor_wrap, byref(buffer.type), buffer.address, lib.READ_ONLY, release_held, hold(buffer))
        try:
            if not buffer.is_wrappable:
                buffer.make_dense()
            return self._made(_calls.tensor_copy, byref(buffer.type), buffer.address)
        finally:
            buffer.release()

    def _exchanged(self, source, wrap):
        try:
            handle = _dlpack.from_object(self, source)
        except BufferError as refusal:
            raise TypeError(f"TSL cannot take this {type(source).__name__}: {refusal}") from None
        except lib.Error as error:
            if error.kind != "type":
                raise
            raise no_dtype(source, f"this {type(source).__name__}'s: {error.message}") from None
        if wrap:
            return handle
        try:
            return _dlpack.copy_of(self, handle)
        finally:
            self._release(handle)

    def _to_python(self, handle):
        """Makes a value of Python, and takes over the handle."""
        kind = self._kind(handle)
        if kind in (lib.TENSOR, lib.FUNCTION, lib.MODULE, lib.DTYPE, lib.RANGE):
            return self._to_value(handle, kind)
        try:
            return self._read(kind, handle)
        finally:
            self._release(handle)

    def _to_value(self, handle, kind):
        """Makes a reference, and takes over the handle."""
        return {lib.TENSOR: Tensor, lib.FUNCTION: Function}.get(kind, Value)(self, handle)

    def _kind(self, handle):
        kind = c_int()
        self._do(_calls.get_kind, handle, byref(kind))
        return kind.value

    def _read(self, kind, handle):
        scalars = {lib.BOOL: (c_bool, _calls.get_bool), lib.INT: (c_int64, _calls.get_int), lib.FLOAT: (c_double, _calls.get_float)}
        if kind in scalars:
            place, call = scalars[kind]
            result = place()
            self._check(call(self._handle, handle, byref(result)))
            return result.value
        if kind == lib.COMPLEX:
            re, im = c_double(), c_double()
            self._do(_calls.get_complex, handle, byref(re), byref(im))
            return complex(re.value, im.value)
        if kind == lib.FOREIGN:
            number = c_void_p()
            self._do(_calls.get_foreign, handle, None, byref(number))
            return held(number.value)
        if kind == lib.STRING:
            return self._text(_calls.get_string, handle)
        if kind not in (lib.LIST, lib.TUPLE, lib.RECORD, lib.MAP):
            return None if kind == lib.NIL else Value(self, self._retained(handle))
        length = c_size_t()
        self._do(_calls.get_length, handle, byref(length))
        items = [self._to_python(self._made(_calls.get_item, handle, i)) for i in range(length.value)]
        if kind == lib.MAP:
            return {self._to_python(self._made(_calls.get_map_key, handle, i)): item for i, item in enumerate(items)}
        if kind != lib.RECORD:
            return items if kind == lib.LIST else tuple(items)
        return {self._key(handle, i): item for i, item in enumerate(items)}

    def _key(self, record, index):
        return self._text(_calls.get_key, record, index)
