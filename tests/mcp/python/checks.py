"""Checks that say what they look at, one line each. The first that fails ends the
program, with what was seen."""

import os
import re
import traceback
from collections.abc import Awaitable, Callable
from typing import Any


async def check(what: str, expected: Any, act: Callable[[], Awaitable[Any]]) -> None:
    """Does `act`; what comes of it must equal `expected`, or match it if that is a pattern."""
    try:
        seen = await act()
    except BaseException:
        fail(what, expected, traceback.format_exc())
    verify(what, expected, seen)


def verify(what: str, expected: Any, seen: Any) -> None:
    """As `check`, of what is there already."""
    if isinstance(expected, re.Pattern):
        is_right = isinstance(seen, str) and expected.search(seen) is not None
    else:
        is_right = seen == expected
    if not is_right:
        fail(what, expected, seen)
    print(f"ok {what}", flush=True)


def fail(what: str, expected: Any, seen: Any) -> None:
    print(f"FAILED {what}\n  expected {expected}\n  saw {seen}", flush=True)
    # At once: closing clients would wait for a server that may not answer.
    os._exit(1)
