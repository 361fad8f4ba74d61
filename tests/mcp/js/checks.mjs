// Checks that print one line each. The first failure prints the actual value and exits.

import { isDeepStrictEqual, inspect } from "node:util";

/** Runs `act`. Its result must equal `expected`, or match it if that is a pattern. */
export async function check(what, expected, act) {
  let seen;
  try {
    seen = await act();
  } catch (error) {
    fail(what, expected, error);
  }
  const isRight =
    expected instanceof RegExp ? expected.test(seen) : isDeepStrictEqual(seen, expected);
  if (!isRight) fail(what, expected, seen);
  console.log(`ok ${what}`);
}

function fail(what, expected, seen) {
  const shown = (value) => inspect(value, { depth: 8, breakLength: 100 });
  console.log(`FAILED ${what}\n  expected ${shown(expected)}\n  saw ${shown(seen)}`);
  process.exit(1);
}
