"""What was deployed."""

import os
import re
from pathlib import Path

#: The C library of Amazon Linux 2023, on which `provided.al2023` runs.
GLIBC = (2, 34)


def test_no_function_needs_a_newer_c_library_than_lambda_has():
    bootstraps = sorted(Path(os.environ["BUILD"]).glob("*/bootstrap"))
    assert len(bootstraps) == 10
    for bootstrap in bootstraps:
        # The names of versions stand in the file as text.
        needs = {(int(major), int(minor)) for major, minor in re.findall(rb"\bGLIBC_(\d+)\.(\d+)", bootstrap.read_bytes())}
        assert needs and max(needs) <= GLIBC, f"{bootstrap.parent.name} needs {max(needs)}"
