"""Finds the holdfast Python package and loads it once per process.

It lies beside this file, in lib/holdfast, with the library and the programs it needs, so that copying one folder installs
everything; installed from a wheel, it is the package holdfast of the same wheel. It is loaded under a name of its own: this
plugin's folder is called holdfast too, and a host may have put the folder above it on the import path.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import sys
from typing import Any, List, Optional

from .locks import ProcessLock

MODULE = "_holdfast_binding"
PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "holdfast")
_lock = ProcessLock()


def _from_folder() -> Any:
    spec = importlib.util.spec_from_file_location(
        MODULE, os.path.join(PACKAGE, "__init__.py"), submodule_search_locations=[PACKAGE]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{PACKAGE} is not a Python package")
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        # Half a package would be taken for a whole one by the next try.
        for name in [one for one in sys.modules if one == MODULE or one.startswith(MODULE + ".")]:
            del sys.modules[name]
        raise
    return module


def load() -> Any:
    """The package. Raises ImportError with the reason; the next call tries again."""
    with _lock:
        loaded = sys.modules.get(MODULE)
        if loaded is not None:
            return loaded
        if os.path.isdir(PACKAGE):
            return _from_folder()
        package = importlib.import_module("holdfast")
        if not hasattr(package, "Supervisor"):
            raise ImportError(f"{PACKAGE} is missing, and the package holdfast that is installed is another one")
        sys.modules[MODULE] = package
        return package


def missing() -> "Optional[str]":
    """Why load() would fail, as far as that can be told by looking; None when nothing speaks against it."""
    if sys.modules.get(MODULE) is not None:
        return None
    if os.path.isdir(PACKAGE):
        library = os.environ.get("HOLDFAST_LIBRARY") or os.path.join(PACKAGE, "libholdfast.so.1")
        if not os.path.isfile(library):
            return f"{library} is missing"
        return None
    if importlib.util.find_spec("holdfast") is None:
        return f"{PACKAGE} is missing"
    return None


def _places_of(name: str, variable: str) -> "List[str]":
    named = os.environ.get(variable)
    if named:
        return [named]
    folders = [PACKAGE]
    spec = None if os.path.isdir(PACKAGE) else importlib.util.find_spec("holdfast")
    if spec is not None and spec.origin:
        folders.append(os.path.dirname(spec.origin))
    in_path = shutil.which(name)
    return [os.path.join(folder, name) for folder in folders] + ([in_path] if in_path else [])


def program(name: str, variable: str) -> str:
    """A program of Holdfast: named by a variable, beside the package, or in PATH. Raises FileNotFoundError or
    PermissionError, which names it."""
    places = _places_of(name, variable)
    for path in places:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    there = [path for path in places if os.path.exists(path)]
    if there:
        raise PermissionError(f"{there[0]} may not be run")
    raise FileNotFoundError(f"{places[0]} is missing")
