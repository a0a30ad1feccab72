"""A wheel with compiled kernels, if the environment names a folder of them; without it a wheel for every system.

`make wheel` builds both. The one with kernels is for the Python and the system that compiled them, and pip prefers it
there: a fresh installation then loads in a second what it would compile in twenty.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PLACE = "tidelog/backends/local/kernels/ahead"


class KernelsHook(BuildHookInterface):
    """Puts the folder that TIDELOG_WHEEL_KERNELS names into the wheel, and says in its tag for whom it is."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is built."""
        folder = os.environ.get("TIDELOG_WHEEL_KERNELS")
        if not folder or version == "editable":
            return
        if next(Path(folder).glob("*.nbc"), None) is None:
            raise FileNotFoundError(f"{folder} has no kernels: run tidelog warm --portable {folder}")
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["force_include"][folder] = _PLACE
        build_data["tag"] = f"{python}-none-{system}"
