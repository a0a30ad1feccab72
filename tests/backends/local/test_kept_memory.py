"""Memory of arrays that are freed: it is there for the next ones, without fresh pages from the system."""

from __future__ import annotations

import platform
import subprocess
import sys

PROGRAM = """
import resource
import numpy as np
import tidelog as tl

engine = tl.Engine()

def touched():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    several = [np.ones(1 << 20, np.uint8) for _ in range(12)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

touched()
print(touched())
"""


def test_an_array_that_was_freed_leaves_its_pages_to_the_next() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    learns = platform.libc_ver()[0] == "glibc"
    assert int(done.stdout) < 100 or not learns  # 12 MB are 3,072 pages, fresh each time where nothing was learnt
