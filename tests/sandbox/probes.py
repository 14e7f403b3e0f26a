"""Attacks of sandboxed code, as data: each probe prints `mark` if it succeeds."""

from __future__ import annotations

from dataclasses import dataclass

from daemon.sandbox.child import HostSocket
from daemon.sandbox.environment import CellResult

MARK = "it-got-out-7f3a"
VARIABLE = "PROBE_MARK"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    name: str
    code: str
    slow: bool = False
    """True if it lasts until the timeout."""
    deadly: bool = False
    """True if it tries to end the interpreter, and prints nothing; the host must survive."""


def escaped(execution: CellResult) -> bool:
    value = execution.value if isinstance(execution.value, str) else repr(execution.value)
    return any(MARK in text for text in (execution.stdout, execution.stderr, value, execution.error))


def probes(group: str, codes: dict[str, str], before: str = "", **kind: bool) -> list[Probe]:
    """Return the probes of a group; each code begins with `before`."""
    return [Probe(name=f"{group}: {name}", code=f"{before}\n{code}", **kind) for name, code in codes.items()]


FILES = {
    "open": "print(open(secret).read())",
    "os.open": "import os\nprint(os.read(os.open(secret, os.O_RDONLY), 100))",
    "pathlib": "import pathlib\nprint(pathlib.Path(secret).read_text())",
    "FileIO": "import io\nprint(io.FileIO(secret).readall())",
    "codecs": "import codecs\nprint(codecs.open(secret).read())",
    "linecache": "import linecache\nprint(linecache.getlines(secret))",
    "tokenize": "import tokenize\nprint(tokenize.open(secret).read())",
    "a module loader": """
from importlib.machinery import SourceFileLoader
print(SourceFileLoader('x', secret).get_data(secret))""",
    "a function's globals": "import re\nprint(re.compile.__globals__['__builtins__']['open'](secret).read())",
    "a subclass of object": """
def below(kind): return [kind] + [other for one in kind.__subclasses__() for other in below(one)]
[base] = [kind for kind in object.__subclasses__() if kind.__name__ == '_IOBase']
[file] = [kind for kind in below(base) if kind.__name__ == 'FileIO']
print(file(secret).readall())""",
    "exec": "exec(compile('print(open(secret).read())', 'x', 'exec'), {'secret': secret})",
    "fileinput": "import fileinput\nprint(list(fileinput.input(secret)))",
    "stat": "import os\nos.stat(secret)\nprint(mark)",
    "listdir": "import os\nos.listdir(folder)\nprint(mark)",
    "scandir": "import os\nlist(os.scandir(folder))\nprint(mark)",
    "glob": "import glob\nassert glob.glob(folder + '/*')\nprint(mark)",
    "walk": "import os\nassert list(os.walk(folder))\nprint(mark)",
    "write": "open(folder + '/new', 'w').write('x')\nprint(mark)",
    "append": "open(secret, 'a').write('')\nprint(mark)",
    "mkdir": "import os\nos.mkdir(folder + '/new-folder')\nprint(mark)",
    "unlink": "import os\nos.unlink(folder + '/spare')\nprint(mark)",
    "rename": "import os\nos.rename(folder + '/movable', folder + '/moved')\nprint(mark)",
    "symlink": "import os\nos.symlink(secret, folder + '/symbolic')\nprint(mark)",
    "link": "import os\nos.link(secret, folder + '/hard')\nprint(mark)",
    "chmod": "import os\nos.chmod(secret, 0o600)\nprint(mark)",
    "truncate": "import os\nos.truncate(folder + '/long', 0)\nprint(mark)",
    "chdir": "import os\nos.chdir(folder)\nprint(mark)",
    "copy": "import shutil\nshutil.copy(secret, folder + '/copied')\nprint(mark)",
    "a temporary file": "import tempfile\ntempfile.TemporaryFile().write(b'x')\nprint(mark)",
    "sqlite": "import sqlite3\nsqlite3.connect(folder + '/db').execute('create table t (x)')\nprint(mark)",
    "a planted module": "import sys\nsys.path.insert(0, folder)\nimport planted\nprint(planted.MARK)",
    "atexit": """
import atexit
atexit.register(lambda: print(open(secret).read()))
atexit._run_exitfuncs()""",
}
NETWORK = {
    "TCP": "import socket\nsocket.create_connection(('127.0.0.1', tcp))\nprint(mark)",
    "TCP, listening": "import socket\nsocket.create_server(('127.0.0.1', 0))\nprint(mark)",
    "UDP": """
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', udp))
print(mark)""",
    "a unix socket": """
import socket
socket.socket(socket.AF_UNIX).connect(unix)
print(mark)""",
    "an abstract socket": """
import os, socket
socket.socket(socket.AF_UNIX).bind(f'\\0{os.getpid()}')
print(mark)""",
    "a pair of sockets": "import socket\nsocket.socketpair()\nprint(mark)",
    "http": "import http.client\nhttp.client.HTTPConnection('127.0.0.1', tcp).connect()\nprint(mark)",
    "asyncio": """
import asyncio
async def main():
    loop = asyncio.SelectorEventLoop()
    connecting = loop.create_connection(asyncio.Protocol, '127.0.0.1', tcp)
    await asyncio.to_thread(loop.run_until_complete, connecting)
asyncio.run(main())
print(mark)""",
    "names of hosts": "import socket\nsocket.getaddrinfo('localhost', 80)\nprint(mark)",
    "a copy of the host's socket": f"""
import gc, socket
[wire] = [one._connection for one in gc.get_objects() if type(one).__name__ == '{HostSocket.__name__}']
copy = socket.socket(fileno=wire.dup().detach())
print(mark)""",
}
PROCESSES = {
    "fork": """
import os
child = os.fork()
if not child: os._exit(0)
print(mark)
os.waitpid(child, 0)""",
    "os.system": "import os\nassert os.system('exit 0') == 0\nprint(mark)",
    "popen": "import os\nassert os.popen('echo out').read()\nprint(mark)",
    "subprocess": "import subprocess\nprint(subprocess.check_output(['cat', secret]))",
    "posix_spawn": """
import os
os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)
print(mark)""",
    "multiprocessing": """
import multiprocessing
one = multiprocessing.get_context('fork').Process(target=int)
one.start()
one.join()
print(mark)""",
    "a signal": "import os, signal\nos.kill(pid, signal.SIGCONT)\nprint(mark)",
    "a signal to the parent": "import os\nos.kill(os.getppid(), 0)\nprint(mark)",
    "a signal to its group": "import os\nos.killpg(os.getpgid(pid), 0)\nprint(mark)",
    "a pidfd": "import os\nos.pidfd_open(pid)\nprint(mark)",
    "a signal handler": "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(mark)",
    "a timer": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0)\nprint(mark)",
    "other limits": "import resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\nprint(mark)",
    "another priority": "import os\nos.nice(1)\nprint(mark)",
    "another core": "import os\nos.sched_setaffinity(0, os.sched_getaffinity(0))\nprint(mark)",
    "a pipe": "import os\nos.pipe()\nprint(mark)",
    "memory as a file": "import os\nos.memfd_create('x')\nprint(mark)",
    "the name of the machine": "import os\nos.uname()\nprint(mark)",
    "another user": "import os\nos.setuid(os.getuid())\nprint(mark)",
    "four hundred threads": """
import threading
gate = threading.Event()
threads = [threading.Thread(target=gate.wait, daemon=True) for _ in range(400)]
try:
    for thread in threads: thread.start()
    print(mark)
finally:
    gate.set()""",
}
PROC = {
    "memory": "open('/proc/self/mem', 'rb').close()\nprint(mark)",
    "maps": "assert open('/proc/self/maps').read()\nprint(mark)",
    "an environment": "print(open(f'/proc/{pid}/environ').read())",
    "a command": "print(open(f'/proc/{pid}/cmdline').read())",
    "all processes": "import os\nassert os.listdir('/proc')\nprint(mark)",
    "the own environment": f"import os\nprint(os.environ['{VARIABLE}'])",
    "the environment of C": f"""
import ctypes
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
print(libc.getenv(b'{VARIABLE}'))""",
}
RAW = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    result = libc.syscall(*args)
    if result < 0: raise OSError(ctypes.get_errno(), 'refused')
    return result
"""
SYSCALLS = {
    "open": "call(2, secret.encode(), 0)\nprint(mark)",
    "openat": "call(257, -100, secret.encode(), 0)\nprint(mark)",
    "openat2": "call(437, -100, secret.encode(), bytes(24), 24)\nprint(mark)",
    "socket": "call(41, 2, 1, 0)\nprint(mark)",
    "write to any descriptor": "call(1, 2, b'', 0)\nprint(mark)",
    "fork": "child = call(57)\nif not child: os._exit(0)\nprint(mark)\nos.waitpid(child, 0)",
    "clone of a process": """
child = call(56, 17, 0, 0, 0, 0)
if not child: os._exit(0)
print(mark)
os.waitpid(child, 0)""",
    "kill": "call(62, pid, 0)\nprint(mark)",
    "tgkill": "call(234, pid, pid, 0)\nprint(mark)",
    "ptrace": "call(101, 0, 0, 0, 0)\nprint(mark)",
    "another process's memory": """
held = ctypes.create_string_buffer(8)
vector = (ctypes.c_ulong * 2)(ctypes.addressof(held), 8)
call(310, os.getpid(), vector, 1, vector, 1, 0)
print(mark)""",
    "unshare": "call(272, 0x400)\nprint(mark)",
    "prctl": "call(157, 3, 0, 0, 0)\nprint(mark)",
    "personality": "call(135, 0xFFFFFFFF)\nprint(mark)",
    "shared memory": "call(31, call(29, 0, 4096, 0o1600), 0, None)\nprint(mark)",
    "inotify": "call(294, 0)\nprint(mark)",
    "epoll": "call(291, 0)\nprint(mark)",
    "dup": "call(32, 0)\nprint(mark)",
    "sysinfo": "call(99, ctypes.create_string_buffer(256))\nprint(mark)",
    "a message queue": "call(71, call(68, 0, 0o1600), 0, None)\nprint(mark)",
}
MEMORY = {
    "bytes": "len(bytearray(1 << 29))\nprint(mark)",
    "a text": "len('x' * (1 << 29))\nprint(mark)",
    "a list": "len([0] * (1 << 26))\nprint(mark)",
    "bit by bit": "print(mark if [str(number) * 10_000_000 for number in range(40)] else 0)",
    "an int": "(1 << (1 << 32)).bit_length()\nprint(mark)",
    "a format": "len('%400000000d' % 1)\nprint(mark)",
    "replace": "len(('x' * 20_000).replace('x', 'y' * 20_000))\nprint(mark)",
    "mmap": "import mmap\nmmap.mmap(-1, 1 << 29).close()\nprint(mark)",
    "brk and mmap of C": "import ctypes\nassert ctypes.CDLL(None).malloc(1 << 29)\nprint(mark)",
}
TIME = {
    "a loop": """
import time
end = time.monotonic() + 0.1 * times
while time.monotonic() < end: pass
print(mark)""",
    "a loop that swallows": """
import time
end = time.monotonic() + 0.1 * times
while time.monotonic() < end:
    try:
        while time.monotonic() < end: pass
    except BaseException: pass
print(mark)""",
    "a loop in finally": """
import time
end = time.monotonic() + 0.1 * times
try: 1 / 0
finally:
    while time.monotonic() < end: pass
    print(mark)""",
    "sleep": "import time\ntime.sleep(0.1 * times)\nprint(mark)",
    "a sum": "sum(range(100_000 * times))\nprint(mark)",
    "a regex": "import re\nre.match('(a+)+$', 'a' * min(16 * times, 48) + '!')\nprint(mark)",
    "a power": "pow(7, 10_000 * times)\nprint(mark)",
    "a value whose repr never ends": """
import time
class Value:
    def __repr__(self):
        end = time.monotonic() + 0.1 * times
        while time.monotonic() < end: pass
        return mark
Value()""",
    "an error whose text never ends": """
import time
class Failure(Exception):
    def __str__(self):
        end = time.monotonic() + 0.1 * times
        while time.monotonic() < end: pass
        return mark
raise Failure()""",
    "threads": """
import threading, time
end = time.monotonic() + 0.1 * times
def spin():
    while time.monotonic() < end: pass
threads = [threading.Thread(target=spin) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(mark)""",
    "a loop of tasks": """
import asyncio, time
end = time.monotonic() + 0.1 * times
async def spin():
    while time.monotonic() < end: await asyncio.sleep(0)
await asyncio.gather(spin(), spin())
print(mark)""",
    "a loop beside a call": """
import threading, time
end = time.monotonic() + 0.1 * times
threading.Thread(target=wait, args=(0.1 * times,), daemon=True).start()
while time.monotonic() < end: pass
print(mark)""",
}
FLOODS = {
    "stdout": "print('x' * 30_000_000)\nprint(mark)",
    "stdout, line by line": "for _ in range(200_000): print('x' * 10)\nprint(mark)",
    "stderr": "import sys\nprint('x' * 30_000_000, file=sys.stderr)\nprint(mark, file=sys.stderr)",
    "an error": "raise ValueError('x' * 2_000_000 + mark)",
    "a value": "['x' * 30_000_000, mark]",
    "a repr": "class Value:\n    def __repr__(self): return 'x' * 2_000_000 + mark\nValue()",
    "calls": "for number in range(most + 1): ping(number)\nprint(mark)",
    "calls of threads": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool: list(pool.map(ping, range(most + 1)))
print(mark)""",
}
WIRE = f"""
import gc, socket, sys
[wire] = [one._connection for one in gc.get_objects() if type(one).__name__ == '{HostSocket.__name__}']
def send(body): wire.sendall(len(body).to_bytes(4, 'big') + body)
"""
TOLERATED = """
ping(1)
print(mark)"""
"""Code after a frame that the host tolerates."""
PROTOCOL = {
    "no JSON": r"""
send(b'hello')""",
    "no object": r"""
send(b'[]')""",
    "nothing": r"""
send(b'')""",
    "no UTF-8": r"""
send(b'{"call": "\xff\xfe"}')""",
    "a frame of no kind": r"""
send(b'{"hello": 1}')""",
    "a token": r"""
send(b'{"token": "x"}')""",
    "a request to the host": r"""
send(b'{"id": 7, "execute": "1"}')""",
    "the result of another cell": r"""
send(b'{"done": 999999, "stdout": "", "stderr": "", "error": "", "variables": {}, "value": 1}')""",
    "a function that it was not given": r"""
send(b'{"call": "forbidden", "id": 900001, "args": [], "kwargs": {}}')""",
    "a call with one number twice": r"""
send(b'{"call": "ping", "id": 900002, "args": [1], "kwargs": {}}')
send(b'{"call": "ping", "id": 900002, "args": [1], "kwargs": {}}')""",
    "a call without a number": r"""
send(b'{"call": "ping", "args": [1], "kwargs": {}}')""",
    "a name that is a list": r"""
send(b'{"call": ["ping"], "id": 900003, "args": [1], "kwargs": {}}')""",
    "a frame that is too large": r"""
send(b' ' * 20_000_000 + b'{}')""",
    "too many values": r"""
send(b'{"call": "ping", "id": 900004, "args": [' + b'[],' * 2_000_000 + b'1], "kwargs": {}}')""",
    "values that lie deep": r"""
send(b'{"call": "ping", "id": 900005, "args": ' + b'[' * 200_000 + b']' * 200_000 + b', "kwargs": {}}')""",
    "half a character": r"""
send(b'{"call": "ping", "id": 900006, "args": ["\\ud800"], "kwargs": {}}')""",
    "keys of one hash": r"""
keys = ','.join(str(number * (2**61 - 1)) for number in range(1, 20_000))
send(b'{"call": "ping", "id": 900007, "args": [{"$set": [' + keys.encode() + b']}], "kwargs": {}}')""",
    "a tag that is none": r"""
send(b'{"call": "ping", "id": 900008, "args": [{"$code": "x"}], "kwargs": {}}')""",
    "no number": r"""
send(b'{"call": "ping", "id": 900009, "args": [NaN], "kwargs": {}}')""",
    "a text without end": r"""
send(b'{"call": "' + b',\\"' * 5_000_000)""",
    "a number without end": r"""
send(b'{"call": "ping", "id": 900010, "args": [' + b'9' * 100_000 + b'], "kwargs": {}}')""",
}
DEADLY = {
    "os._exit": "import os\nos._exit(0)",
    "abort": "import os\nos.abort()",
    "exec": "import os\nos.execv('/bin/true', ['true'])",
    "a signal to itself": "import os\nos.kill(os.getpid(), 9)",
    "a null pointer": "import ctypes\nctypes.string_at(0)",
    "a fault": "import faulthandler\nfaulthandler._sigsegv()",
    "closing the socket": f"{WIRE}\nwire.close()",
    "closing its descriptor": f"{WIRE}\nimport os\nos.close(wire.fileno())",
    "hanging up": f"{WIRE}\nwire.shutdown(socket.SHUT_RDWR)",
    "memory of the interpreter": "import ctypes\nctypes.memset(id(int), 0, 400)\nint('1')",
}

PROBES = [
    *probes("files", FILES),
    *probes("network", NETWORK),
    *probes("processes", PROCESSES),
    *probes("proc", PROC),
    *probes("syscalls", SYSCALLS, RAW),
    *probes("memory", MEMORY),
    *probes("time", TIME, slow=True),
    *probes("floods", FLOODS),
    *probes("protocol", {name: code + TOLERATED for name, code in PROTOCOL.items()}, WIRE),
    *probes("deadly", DEADLY, deadly=True),
]
