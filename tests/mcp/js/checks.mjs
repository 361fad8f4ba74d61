// Checks that say what they look at, one line each. The first that fails ends the
// program, with what was seen.

import { isDeepStrictEqual, inspect } from "node:util";

/** Does `act`; what comes of it must equal `expected`, or match it if that is a pattern. */
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
