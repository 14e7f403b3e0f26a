"""What monty 1.4 has of Python, and what it lacks. A test compares it with monty itself."""

from __future__ import annotations

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
"""Its modules, and the names in each."""

SHIMMED = {
    "statistics": (
        "StatisticsError fmean geometric_mean harmonic_mean mean median median_high median_low mode "
        "multimode pstdev pvariance quantiles stdev variance"
    ),
    "string": (
        "ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable "
        "punctuation whitespace"
    ),
    "textwrap": "dedent fill indent shorten wrap",
}
"""Modules that we bring ourselves, as their source in daemon/sandbox/shims, and the names in each."""

BUILTINS = (
    "BaseExceptionGroup BlockingIOError BrokenPipeError BufferError ChildProcessError ConnectionError "
    "ConnectionResetError DeprecationWarning EOFError EnvironmentError ExceptionGroup GeneratorExit "
    "FloatingPointError IOError IndentationError InterruptedError ProcessLookupError ReferenceError "
    "RuntimeWarning StopAsyncIteration SystemError UnicodeError UserWarning Warning __import__ ascii "
    "bytearray callable classmethod compile delattr dir globals issubclass memoryview "
    "staticmethod super vars"
)
"""Builtins that it has not."""

METHODS = (
    "__cause__ __class_getitem__ __context__ __traceback__ colno lineno "
    "__dict__ __doc__ __mro__ add_note as_integer_ratio bit_count bit_length ctime "
    "default_factory difference_update format_map from_bytes fromisocalendar fromordinal "
    "intersection_update is_integer isocalendar lastgroup lastindex maketrans subn "
    "symmetric_difference_update timetuple to_bytes toordinal translate utcfromtimestamp utcnow "
    "with_traceback"
)
"""Attributes that its own types have not, and that hardly anything else is called."""

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
"""Types of which it has nothing by the type's name (`key=str.lower`) but this. `datetime` may be a module."""

DUNDERS = (
    "__abs__ __add__ __and__ __call__ __contains__ __divmod__ __enter__ __eq__ __exit__ __float__ "
    "__floordiv__ __getitem__ __hash__ __index__ __init__ __int__ __invert__ __iter__ __lshift__ "
    "__matmul__ __mod__ __mul__ __ne__ __neg__ __next__ __or__ __post_init__ __pow__ __radd__ __repr__ "
    "__rmul__ __round__ __rshift__ __rsub__ __setitem__ __str__ __sub__ __truediv__ __xor__"
)
"""Methods of this kind that it calls; it ignores all others, without a word."""

OPTIONS = {
    "dumps": "allow_nan ensure_ascii indent obj separators skipkeys sort_keys",
    "loads": "s parse_float",
    "dataclass": "eq frozen",
}
"""Options that these functions take; they take no others."""

LACKS = (
    "yield, class inheritance (so no exceptions or Enums of one's own), property and other decorated "
    "methods, del, async for and async with, globals(), str.lower as a function, re.sub with a function, "
    "and all modules but " + ", ".join(sorted([*MODULES, *SHIMMED]))
)
"""What a cell must do without where there is only monty."""
