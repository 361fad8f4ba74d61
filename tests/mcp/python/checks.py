"""Checks that print one line each. The first failure prints the actual value and exits."""

import os
import re
import traceback
from collections.abc import Awaitable, Callable
from typing import Any


async def check(what: str, expected: Any, act: Callable[[], Awaitable[Any]]) -> None:
    """Runs `act`. Its result must equal `expected`, or match it if that is a pattern."""
    try:
        seen = await act()
    except BaseException:
        fail(what, expected, traceback.format_exc())
    verify(what, expected, seen)


def verify(what: str, expected: Any, seen: Any) -> None:
    """Compares `seen` with `expected` as `check` does."""
    if isinstance(expected, re.Pattern):
        is_right = isinstance(seen, str) and expected.search(seen) is not None
    else:
        is_right = seen == expected
    if not is_right:
        fail(what, expected, seen)
    print(f"ok {what}", flush=True)


def fail(what: str, expected: Any, seen: Any) -> None:
    print(f"FAILED {what}\n  expected {expected}\n  saw {seen}", flush=True)
    # Exits at once: closing the clients would wait for a server that may not reply.
    os._exit(1)
