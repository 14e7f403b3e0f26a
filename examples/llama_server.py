"""Serve a model from a GGUF file as llama-server does: `python examples/llama_server.py MODEL.gguf [PORT]`.

Wants llama.cpp's server as a package (`pip install xllamacpp`), in an environment of its own. The model is
called after its file, without `.gguf`.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import xllamacpp  # type: ignore[import-not-found]

WINDOW = 12_288
"""Tokens that prompt and answer have together; a small machine reads a longer prompt for minutes."""


def main(model: Path, port: int) -> None:
    """Serve this model until the process is stopped."""
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
