// An instance of the component, for as long as it is of use. Nothing here knows where
// it runs.

import { instantiate } from "./gen/shared-context.js";

/**
 * After so many calls an instance is replaced by a new one: memory that a large request
 * needed is given back only so, and jco keeps a few bytes of every call.
 */
const CALLS_MAX = 10_000;

export class Component {
  #modules;
  #imports;
  #instance;
  #callsLeft = 0;

  /**
   * `modules` are the compiled files of `gen/`, by name; `imports` are `kv`, `clock`,
   * `log` and `tokenizer`, as `wit/` describes them.
   */
  constructor(modules, { kv, clock, log, tokenizer }) {
    this.#modules = modules;
    this.#imports = {
      "shared-context:core/kv": kv,
      "shared-context:core/clock": clock,
      "shared-context:core/log": log,
      "shared-context:core/tokenizer": tokenizer,
    };
  }

  /**
   * Calls what the component exports, such as `({ tool }) => tool.invoke(…)`: `{ ok }`
   * is what it answered, `{ error }` why it refused: a code, a message, and details.
   */
  call(work) {
    try {
      return { ok: work(this.#usable()) };
    } catch (error) {
      // What a function of the component refuses is thrown as the record it is.
      if (!(error instanceof Error)) return { error };
      // Anything else broke the instance in the middle of its work.
      this.#instance = undefined;
      console.error(error.stack ?? String(error));
      const message =
        "the request failed inside the component; whether its change was made is not known: " +
        "read before you try again";
      return { error: { code: "INTERNAL", message } };
    }
  }

  #usable() {
    if (this.#instance === undefined || this.#callsLeft === 0) {
      this.#instance = instantiate((name) => this.#modules[name], this.#imports);
      this.#callsLeft = CALLS_MAX;
    }
    this.#callsLeft -= 1;
    return this.#instance;
  }
}
