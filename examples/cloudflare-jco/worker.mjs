// A Worker that keeps sessions, each in a Durable Object with an instance of the
// component. To have them in a Worker of your own, take the class `Session` and call
// `invoke`; the entry below shows how.

import { DurableObject } from "cloudflare:workers";

import { Component } from "./component.mjs";
import core from "./gen/shared-context.core.wasm";
import core2 from "./gen/shared-context.core2.wasm";
import core3 from "./gen/shared-context.core3.wasm";
import { kv } from "./kv.mjs";

/** Compiled once, for all objects. */
const MODULES = {
  "shared-context.core.wasm": core,
  "shared-context.core2.wasm": core2,
  "shared-context.core3.wasm": core3,
};

/** What its object is named after: the session `session/main`, the project `project/webshop`. */
export class Session extends DurableObject {
  #component = new Component(MODULES, {
    kv: kv(this.ctx.storage),
    clock: { nowMs: () => BigInt(Date.now()) },
    log: { audit: (scope, done) => this.#audit({ [scope.tag]: scope.val, ...done }) },
    tokenizer: { encodings: () => [], count: () => undefined },
  });

  /**
   * Performs `request`, the bytes of one request of the JSON tool, for `caller`: the
   * record of `wit/types.wit`. Answers `{ ok }` with `body` and `revision`, or `{ error }`.
   */
  async invoke(caller, request) {
    const scope = this.ctx.id.name;
    const answer = this.#component.call(({ tool }) => tool.invoke(scope, caller, request));
    await this.#wakeAt(answer.ok?.nextExpiryMs);
    return answer;
  }

  /** The platform calls this when the alarm is due: what has expired is removed. */
  async alarm() {
    const scope = this.ctx.id.name;
    const { ok: next, error } = this.#component.call(({ tool }) => tool.wake(scope));
    // What is thrown here the platform tries again later.
    if (error && error.code !== "SESSION_NOT_FOUND") throw new Error(error.message);
    await this.#wakeAt(next);
  }

  /** Sets the alarm, unless it comes earlier anyway. */
  async #wakeAt(next) {
    if (next === undefined) return;
    const set = await this.ctx.storage.getAlarm();
    if (set === null || set > Number(next)) await this.ctx.storage.setAlarm(Number(next));
  }

  /** Tells the log what was done, as soon as nothing can undo it. */
  #audit(record) {
    const plain = (_, value) => (typeof value === "bigint" ? Number(value) : value);
    const line = JSON.stringify(record, plain);
    this.ctx.storage.sync().then(() => console.log(line), () => {});
  }
}

/**
 * `POST /{session}` or `POST /projects/{project}` with a request of the JSON tool. It believes the header `caller`,
 * which says as JSON who calls: put your own authentication in front.
 */
export default {
  async fetch(request, env) {
    const scope = scopeOf(request);
    if (scope === undefined) {
      const message = "there is POST /{session} and POST /projects/{project}, and nothing else";
      return refuse(404, { code: "NOT_FOUND", message });
    }
    const caller = callerOf(request);
    if (caller === undefined) {
      const message = 'the header `caller` says who calls, such as {"participant":"orchestrator"}';
      return refuse(401, { code: "UNAUTHENTICATED", message });
    }
    const { ok, error } = await ask(env, scope, caller, await request.bytes());
    if (error) return refuse(STATUSES[error.code] ?? 400, error);
    const headers = { "content-type": "application/json", revision: String(ok.revision) };
    return new Response(ok.body, { headers });
  },
};

/** Has the object named `scope` perform a request. */
async function ask(env, scope, caller, request) {
  try {
    return await env.SESSION.getByName(scope).invoke(caller, request);
  } catch (error) {
    // The object was ended under the request: its storage failed, or it was moved.
    console.error(error.stack ?? String(error));
    const message =
      "the session's object did not answer; whether something was changed is not known: read " +
      "before you try again";
    return { error: { code: "STORAGE_UNAVAILABLE", message } };
  }
}

/** What is not the caller's to mend. */
const STATUSES = { INTERNAL: 500, STORAGE_UNAVAILABLE: 503, TOKENIZER_UNAVAILABLE: 503 };

/** The error as JSON, its details among its members. */
function refuse(status, { code, message, details }) {
  const error = { code, message, ...JSON.parse(details ?? "{}") };
  return Response.json({ error }, { status });
}

/** The session or project that is asked for; nothing if it is not asked as it should be. */
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

/** The caller that the header names, in the form the component takes. */
function callerOf({ headers }) {
  try {
    const { participant, keys = [], credential } = JSON.parse(headers.get("caller"));
    if (typeof participant !== "string") return undefined;
    const { incarnation, epoch } = credential ?? {};
    return {
      participant,
      keys: keys.map(String),
      credential: credential && { incarnation: BigInt(incarnation), epoch: BigInt(epoch) },
    };
  } catch {
    return undefined;
  }
}
