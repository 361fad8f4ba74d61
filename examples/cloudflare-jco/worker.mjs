// A Worker with sessions, each in a Durable Object with an instance of the component. To
// use them in your own Worker, copy the class `Session` and call `invoke`, as the entry
// below does.

import { DurableObject } from "cloudflare:workers";

import { Component } from "./component.mjs";
import core from "./gen/shared-context.core.wasm";
import core2 from "./gen/shared-context.core2.wasm";
import core3 from "./gen/shared-context.core3.wasm";
import { kv } from "./kv.mjs";

/** The compiled modules, shared by all objects. */
const MODULES = {
  "shared-context.core.wasm": core,
  "shared-context.core2.wasm": core2,
  "shared-context.core3.wasm": core3,
};

/** A session or project. The object's name is its scope: `session/main`, `project/webshop`. */
export class Session extends DurableObject {
  #component = new Component(MODULES, {
    kv: kv(this.ctx.storage),
    clock: { nowMs: () => BigInt(Date.now()) },
    log: { audit: (scope, done) => this.#audit({ [scope.tag]: scope.val, ...done }) },
    tokenizer: { encodings: () => [], count: () => undefined },
  });

  /**
   * Performs `request`, the bytes of a JSON tool request, for `caller`, a record of
   * `wit/types.wit`. Returns `{ ok }` with `body` and `revision`, or `{ error }`.
   */
  async invoke(caller, request) {
    const scope = this.ctx.id.name;
    const answer = this.#component.call(({ tool }) => tool.invoke(scope, caller, request));
    await this.#wakeAt(answer.ok?.nextExpiryMs);
    return answer;
  }

  /** Removes expired entries. The platform calls this when the alarm is due. */
  async alarm() {
    const scope = this.ctx.id.name;
    const { ok: next, error } = this.#component.call(({ tool }) => tool.wake(scope));
    // If this throws, the platform retries the alarm later.
    if (error && error.code !== "SESSION_NOT_FOUND") throw new Error(error.message);
    await this.#wakeAt(next);
  }

  /** Sets the alarm, unless it is set for an earlier time. */
  async #wakeAt(next) {
    if (next === undefined) return;
    const set = await this.ctx.storage.getAlarm();
    if (set === null || set > Number(next)) await this.ctx.storage.setAlarm(Number(next));
  }

  /** Logs a change once it is durable. */
  #audit(record) {
    const plain = (_, value) => (typeof value === "bigint" ? Number(value) : value);
    const line = JSON.stringify(record, plain);
    this.ctx.storage.sync().then(() => console.log(line), () => {});
  }
}

/**
 * Serves `POST /{session}` and `POST /projects/{project}` with a JSON tool request. It trusts
 * the header `caller`, which names the caller as JSON: put your own authentication in front.
 */
export default {
  async fetch(request, env) {
    const scope = scopeOf(request);
    if (scope === undefined) {
      const message = "there is POST /{session} and POST /projects/{project}, and nothing else";
      return reject(404, { code: "NOT_FOUND", message });
    }
    const caller = callerOf(request);
    if (caller === undefined) {
      const message = 'the header `caller` says who calls, such as {"participant":"orchestrator"}';
      return reject(401, { code: "UNAUTHENTICATED", message });
    }
    const { ok, error } = await ask(env, scope, caller, await request.bytes());
    if (error) return reject(STATUSES[error.code] ?? 400, error);
    const headers = { "content-type": "application/json", revision: String(ok.revision) };
    return new Response(ok.body, { headers });
  },
};

/** Sends a request to the object named `scope`. */
async function ask(env, scope, caller, request) {
  try {
    return await env.SESSION.getByName(scope).invoke(caller, request);
  } catch (error) {
    // The object was stopped during the request: its storage failed, or it was moved.
    console.error(error.stack ?? String(error));
    const message =
      "the session's object did not answer; whether something was changed is not known: read " +
      "before you try again";
    return { error: { code: "STORAGE_UNAVAILABLE", message } };
  }
}

/** The status codes of errors that are not the caller's fault. */
const STATUSES = { INTERNAL: 500, STORAGE_UNAVAILABLE: 503, TOKENIZER_UNAVAILABLE: 503 };

/** Returns an error response; the details become members of the error. */
function reject(status, { code, message, details }) {
  const error = { code, message, ...JSON.parse(details ?? "{}") };
  return Response.json({ error }, { status });
}

/** Returns the requested session or project, or undefined if the request is invalid. */
function scopeOf({ method, url }) {
  if (method !== "POST") return undefined;
  try {
    const { pathname } = new URL(url);
    const project = pathname.match(/^\/projects\/([^/]*)$/)?.[1];
    if (project !== undefined) return `project/${decodeURIComponent(project)}`;
    return `session/${decodeURIComponent(pathname.slice(1))}`;
  } catch {
    return undefined;
  }
}

/** Returns the caller in the header, converted for the component. */
function callerOf({ headers }) {
  try {
    const { participant, keys = [], credential, session } = JSON.parse(headers.get("caller"));
    if (typeof participant !== "string") return undefined;
    const { incarnation, epoch } = credential ?? {};
    return {
      participant,
      session: session ?? undefined,
      keys: keys.map(String),
      credential: credential && { incarnation: BigInt(incarnation), epoch: BigInt(epoch) },
    };
  } catch {
    return undefined;
  }
}
