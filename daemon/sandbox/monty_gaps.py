"""Syntax check that finds Python features of a cell that monty 1.4 lacks.

A test compares the tables with monty.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator

from daemon.sandbox.monty_run import SHIMMED, UNREADABLE, last_name, names_used

MODULES = {
    "asyncio": "gather run sleep",
    "base64": (
        "MAXBINSIZE MAXLINESIZE a85decode a85encode b16decode b16encode b32decode b32encode b32hexdecode "
        "b32hexencode b64decode b64encode b85decode b85encode decodebytes encodebytes standard_b64decode "
        "standard_b64encode urlsafe_b64decode urlsafe_b64encode"
    ),
    "binascii": (
        "Error Incomplete a2b_base64 a2b_hex a2b_qp a2b_uu b2a_base64 b2a_hex b2a_qp b2a_uu crc32 crc_hqx "
        "hexlify unhexlify"
    ),
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "collections": "Counter defaultdict deque namedtuple",
    "copy": "copy deepcopy",
    "csv": (
        "Dialect DictReader DictWriter Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC excel "
        "excel_tab field_size_limit get_dialect list_dialects reader unix_dialect writer"
    ),
    "dataclasses": "FrozenInstanceError MISSING dataclass field is_dataclass",
    "datetime": "date datetime time timedelta timezone",
    "decimal": (
        "BasicContext Clamped Context ConversionSyntax Decimal DecimalException DecimalTuple "
        "DefaultContext DivisionByZero DivisionImpossible DivisionUndefined ExtendedContext "
        "FloatOperation HAVE_CONTEXTVAR HAVE_THREADS Inexact InvalidContext InvalidOperation MAX_EMAX "
        "MAX_PREC MIN_EMIN MIN_ETINY Overflow ROUND_05UP ROUND_CEILING ROUND_DOWN ROUND_FLOOR "
        "ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded Subnormal Underflow getcontext "
        "localcontext setcontext"
    ),
    "functools": "cache lru_cache partial reduce",
    "hashlib": (
        "algorithms_available algorithms_guaranteed blake2b blake2s md5 new pbkdf2_hmac sha1 sha224 "
        "sha256 sha384 sha3_224 sha3_256 sha3_384 sha3_512 sha512 shake_128 shake_256"
    ),
    "itertools": (
        "accumulate chain combinations combinations_with_replacement compress count cycle dropwhile "
        "filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee "
        "zip_longest"
    ),
    "json": "JSONDecodeError dump dumps load loads",
    "math": (
        "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc "
        "exp exp2 expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf "
        "isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians "
        "remainder sin sinh sqrt tan tanh tau trunc ulp"
    ),
    "os": (
        "altsep chdir curdir defpath devnull extsep fspath getcwd getcwdb getenv linesep listdir makedirs "
        "mkdir name pardir path pathsep remove rename replace rmdir scandir sep stat unlink urandom walk"
    ),
    "pathlib": "Path",
    "posixpath": (
        "abspath altsep basename commonpath commonprefix curdir defpath devnull dirname exists expanduser "
        "expandvars extsep getatime getctime getmtime getsize isabs isdir isfile islink ismount join "
        "lexists normcase normpath pardir pathsep realpath relpath samefile samestat sep split splitdrive "
        "splitext supports_unicode_filenames"
    ),
    "random": (
        "Random betavariate choice choices expovariate gammavariate gauss getrandbits getstate "
        "lognormvariate normalvariate paretovariate randbytes randint random randrange sample seed "
        "setstate shuffle triangular uniform vonmisesvariate weibullvariate"
    ),
    "re": (
        "A ASCII DOTALL I IGNORECASE M MULTILINE Match NOFLAG Pattern S compile error escape findall "
        "finditer fullmatch match search split sub"
    ),
    "sys": (
        "abiflags api_version argv base_exec_prefix base_prefix builtin_module_names byteorder copyright "
        "dont_write_bytecode exec_prefix executable flags float_info float_repr_style hexversion maxsize "
        "maxunicode platform platlibdir prefix pycache_prefix stderr stdout version version_info"
    ),
    "time": (
        "altzone asctime ctime daylight gmtime localtime mktime monotonic monotonic_ns perf_counter "
        "perf_counter_ns process_time process_time_ns sleep strftime strptime thread_time thread_time_ns "
        "time time_ns timezone tzname"
    ),
    "tomllib": "TOMLDecodeError load loads",
    "typing": (
        "Annotated Any Callable ClassVar Dict Final FrozenSet Generator Generic Iterable Iterator List "
        "Literal Mapping Never NoReturn Optional Protocol Self Sequence Set TYPE_CHECKING Tuple Type "
        "TypeVar Union"
    ),
    "unicodedata": "category combining is_normalized lookup name normalize unidata_version",
}


BUILTINS = (
    "BaseExceptionGroup BlockingIOError BrokenPipeError BufferError ChildProcessError ConnectionError "
    "ConnectionResetError DeprecationWarning EOFError EnvironmentError ExceptionGroup GeneratorExit "
    "FloatingPointError IOError IndentationError InterruptedError ProcessLookupError ReferenceError "
    "RuntimeWarning StopAsyncIteration SystemError UnicodeError UserWarning Warning __import__ ascii "
    "bytearray callable classmethod compile delattr dir globals issubclass memoryview "
    "staticmethod super vars"
)


METHODS = (
    "__cause__ __class_getitem__ __context__ __traceback__ colno lineno "
    "__dict__ __doc__ __mro__ add_note as_integer_ratio bit_count bit_length ctime "
    "default_factory difference_update format_map from_bytes fromisocalendar fromordinal "
    "intersection_update is_integer isocalendar lastgroup lastindex maketrans subn "
    "symmetric_difference_update timetuple to_bytes toordinal translate utcfromtimestamp utcnow "
    "with_traceback"
)
"""Attributes of builtin types that monty lacks; hardly any other object has such names."""


TYPES = {
    "str": "",
    "bytes": "fromhex",
    "int": "",
    "float": "",
    "list": "",
    "set": "",
    "tuple": "",
    "dict": "fromkeys",
    "date": "fromisoformat max min resolution today",
    "datetime": "combine date datetime fromisoformat max min now resolution strptime time timedelta timezone",
}
"""Attributes that monty has on each type itself, unlike `str.lower`; `datetime` may be the module."""


DUNDERS = (
    "__abs__ __add__ __and__ __call__ __contains__ __divmod__ __enter__ __eq__ __exit__ __float__ "
    "__floordiv__ __getitem__ __hash__ __index__ __init__ __int__ __invert__ __iter__ __lshift__ "
    "__matmul__ __mod__ __mul__ __ne__ __neg__ __next__ __or__ __post_init__ __pow__ __radd__ __repr__ "
    "__rmul__ __round__ __rshift__ __rsub__ __setitem__ __str__ __sub__ __truediv__ __xor__"
)
"""Special methods that monty calls; others are silently ignored."""


OPTIONS = {
    "dumps": "allow_nan ensure_ascii indent obj separators skipkeys sort_keys",
    "loads": "s parse_float",
    "dataclass": "eq frozen",
}
"""Keyword arguments that monty accepts in these functions."""


LACKS = (
    "yield, class inheritance (so no exceptions or Enums of one's own), property and other decorated "
    "methods, del, async for and async with, globals(), str.lower as a function, re.sub with a function, "
    "and all modules but " + ", ".join(sorted([*MODULES, *SHIMMED]))
)
"""Features that monty lacks, in words."""


KNOWN = {**MODULES, **SHIMMED}


FORMS: tuple[tuple[type[ast.AST], str], ...] = (
    (ast.Yield, "yield"),
    (ast.YieldFrom, "yield from"),
    (ast.Delete, "del"),
    (ast.AsyncFor, "async for"),
    (ast.AsyncWith, "async with"),
    (ast.TryStar, "except*"),
)


DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


ENCODINGS = ("utf-8", "utf8", "UTF-8", "ascii")


SYNCHRONOUS = ("map", "filter", "sorted", "min", "max", "reduce", "sort", "sub", "defaultdict")
"""Functions that cannot wait for a host call in their callbacks."""


def needs_cpython(code: str, functions: Collection[str] = (), known: Collection[str] = ()) -> str:
    """Return the first feature that monty lacks, like `class inheritance`; empty if none.

    `functions`: names that call the host. `known`: names from earlier cells. Unparsable code gives nothing:
    monty reports the error.
    """
    try:
        return next(SyntaxCheck(ast.parse(code), functions, known).faults(), "")
    except UNREADABLE:
        return ""


def functions_that_call(code: str, functions: Collection[str]) -> set[str]:
    """Return the names of functions in the code that call one of `functions`, also indirectly."""
    try:
        tree = ast.parse(code)
    except UNREADABLE:
        return set()
    return functions_reaching(tree, functions)


def functions_reaching(tree: ast.AST, functions: Collection[str]) -> set[str]:
    bodies = [*bodies_by_name(tree)]
    found = set(functions)
    while True:
        more = {name for name, body in bodies if name not in found and calls_any(body, found)}
        if not more:
            return found - set(functions)
        found |= more


def bodies_by_name(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value


def calls_any(body: ast.AST, functions: Collection[str]) -> bool:
    return not names_used(body).isdisjoint(functions)


class SyntaxCheck:
    def __init__(self, tree: ast.Module, functions: Collection[str], known: Collection[str]) -> None:
        self._tree = tree
        self._nodes = [*ast.walk(tree)]
        self._functions = functions_reaching(tree, functions).union(functions)
        self._own = set(known)
        self._modules: dict[str, str] = {}
        for node in self._nodes:
            if isinstance(node, DEFINITIONS):
                self._own.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._own.add(node.id)
            elif isinstance(node, ast.Import):
                for one in node.names:
                    self._modules[one.asname or one.name.split(".")[0]] = one.name
        self._missing = set(BUILTINS.split()) - self._own
        self._methods = set(METHODS.split()) - self._own

    def faults(self) -> Iterator[str]:
        """Yield the unsupported features in the order of the syntax tree."""
        for node in self._nodes:
            yield from unknown_forms(node)
            match node:
                case ast.ClassDef():
                    yield from self._class(node)
                case ast.Import():
                    for one in node.names:
                        yield from missing_import(one.name)
                case ast.ImportFrom():
                    yield from missing_from_import(node)
                case ast.Attribute() if self._is_missing(node):
                    yield f"{ast.unparse(node.value)[:40]}.{node.attr}"
                case ast.Name(id=name, ctx=ast.Load()) if name in self._missing:
                    yield name
                case ast.Call():
                    yield from self._call(node)

    def _class(self, node: ast.ClassDef) -> Iterator[str]:
        if node.bases or node.keywords:
            yield "class inheritance"
        for one in node.body:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                if one.decorator_list:
                    yield f"the decorator {ast.unparse(one.decorator_list[0])} on a method"
                special = one.name.startswith("__") and one.name.endswith("__")
                if special and one.name not in DUNDERS.split():
                    yield one.name
            elif not isinstance(one, ast.Assign | ast.AnnAssign | ast.Pass) and not is_text(one):
                yield "this kind of statement in a class"

    def _is_missing(self, node: ast.Attribute) -> bool:
        if node.attr in self._methods:
            return True
        if node.attr == "__name__":
            return not is_type_expression(node.value)
        if isinstance(node.value, ast.Attribute):
            dotted = ast.unparse(node.value)
            if dotted in ("datetime.datetime", "datetime.date"):
                return node.attr not in TYPES[node.value.attr].split()
        if not isinstance(node.value, ast.Name):
            return False
        name = node.value.id
        module = self._modules.get(name, "")
        if module in KNOWN:
            return node.attr not in KNOWN[module].split()
        return name in TYPES and name not in self._own and node.attr not in TYPES[name].split()

    def _call(self, node: ast.Call) -> Iterator[str]:
        name = last_name(node.func)
        if isinstance(node.func, ast.Name):
            yield from self._bare_call(name, node)
        if name in OPTIONS:
            yield from unknown_options(name, node)
        if name in ("encode", "decode"):
            yield from unknown_encoding(node)
        if name == "sub" and any(self._is_function(one) for one in node.args[:2]):
            yield "re.sub with a function"
        if name in SYNCHRONOUS:
            given = node.args + [one.value for one in node.keywords]
            if any(self._reaches_the_host(one) for one in given):
                yield f"{name} with a function that calls the host"

    def _bare_call(self, name: str, node: ast.Call) -> Iterator[str]:
        if name in self._own:
            return
        if name == "object" or (name == "bytes" and node.args):
            yield f"{name}(…)"
        if is_exception(name) and (len(node.args) > 1 or node.keywords):
            yield f"{name} with several arguments"

    def _is_function(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in dict(bodies_by_name(self._tree))
        return isinstance(node, ast.Lambda)

    def _reaches_the_host(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._functions
        return isinstance(node, ast.Lambda) and calls_any(node, self._functions)


def missing_import(module: str) -> Iterator[str]:
    if module not in KNOWN and module not in ("os.path", "__future__"):
        yield f"the module {module}"


def missing_from_import(node: ast.ImportFrom) -> Iterator[str]:
    module = node.module or "."
    yield from missing_import(module)
    names = KNOWN.get(module, "").split()
    for one in node.names:
        if one.name == "*":
            yield "import *"
        elif module in KNOWN and one.name not in names:
            yield f"{module}.{one.name}"


def unknown_forms(node: ast.AST) -> Iterator[str]:
    for form, name in FORMS:
        if isinstance(node, form):
            yield name
    if isinstance(node, ast.comprehension) and node.is_async:
        yield "async for"


def unknown_options(name: str, call: ast.Call) -> Iterator[str]:
    known = OPTIONS[name].split()
    for one in call.keywords:
        if one.arg and one.arg not in known:
            yield f"{name}({one.arg}=…)"


def unknown_encoding(call: ast.Call) -> Iterator[str]:
    match call.args:
        case [ast.Constant(value=encoding), *_] if encoding not in ENCODINGS:
            yield f"the encoding {encoding!r}"


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_type_expression(node: ast.expr) -> bool:
    """True for `type(x)` or `x.__class__`, expressions that have a `__name__`."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "type"
    return isinstance(node, ast.Attribute) and node.attr == "__class__"


def is_exception(name: str) -> bool:
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)
