"""GGUF model server like llama-server: `python examples/llama_server.py MODEL.gguf [PORT]`.

Needs `pip install xllamacpp` in a separate environment. The model's name is the file's, without `.gguf`.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import xllamacpp  # type: ignore[import-not-found]

WINDOW = 12_288
"""Tokens of prompt and answer; longer prompts take minutes on small machines."""


def main(model: Path, port: int) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {model.stem}
    params.hostnames, params.port = ["127.0.0.1"], port
    params.n_ctx = WINDOW
    params.n_parallel = 1
    params.use_jinja = True
    server = xllamacpp.Server(params)
    print(f"{model.stem} is served at {server.listening_address}", flush=True)
    signal.pause()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 8080)
