#!/usr/bin/env python3
"""Second chances of checks that failed: at most five in all, over every script of one run.

    python3 tests/second_chance.py NAME    exits with 0 if the check with this name may be run again, else with 1

$MCPLINK_SECOND_CHANCES names the file with a line for each chance that was granted. Without the variable there are none.
"""

import fcntl
import os
import sys

MOST = 5


def granted(name: str) -> bool:
    """Whether the check may be run again; notes that it is."""
    file = os.environ.get("MCPLINK_SECOND_CHANCES")
    if not file:
        return False
    with open(file, "a+") as chances:
        fcntl.flock(chances, fcntl.LOCK_EX)
        chances.seek(0)
        if len(chances.read().splitlines()) >= MOST:
            return False
        chances.write(" ".join(name.split()) + "\n")
    return True


if __name__ == "__main__":
    sys.exit(0 if granted(" ".join(sys.argv[1:])) else 1)
