"""The browser of the page's tests, if the library that drives it is installed."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("playwright"):  # without it, the modules that need the browser are skipped, and the others run
    from tests.console.one_browser import browser

    __all__ = ["browser"]
