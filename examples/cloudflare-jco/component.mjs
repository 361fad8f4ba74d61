// Manages an instance of the component. This module does not depend on the platform.

import { instantiate } from "./gen/shared-context.js";

/**
 * The number of calls after which an instance is replaced. Only a new instance releases
 * the memory of a large request, and jco retains a few bytes of every call.
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
   * Calls an export of the component, as in `({ tool }) => tool.invoke(…)`. Returns `{ ok }`
   * with its result, or `{ error }` with a code, a message, and details.
   */
  call(work) {
    try {
      return { ok: work(this.#usable()) };
    } catch (error) {
      // An error of the component is thrown as a plain record.
      if (!(error instanceof Error)) return { error };
      // Any other error has left the instance broken.
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
