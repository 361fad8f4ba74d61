// The classes that the platform asks for, and how a request gets from one to the
// other. Everything that is decided is decided in Rust.
//
// A failure inside the WebAssembly instance (a trap, or an exception on its way
// through it) leaves it in pieces, and it is shared by all objects of this isolate.
// So it is given up: `restart` makes a new one, every request under way in the old
// one is answered 500 at once, and its objects are begun anew from what is stored.

import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";
import {
  BucketObject,
  DirectoryObject,
  __wbg_reset_state as restart,
  bodyBytesMax,
  destination,
  isBloated,
  refuse,
  respond,
  setUp,
} from "./build/glue/shared_context.js";

// The requests under way in the present instance: how to end each.
let underWay = new Set();
let generation = 0;
let isSetUp = false;
// Whether a call into the instance was begun and not left. No call is made within
// another, so who finds this set knows that one was ended from outside: the
// platform does so when a request takes too long.
let isInside = false;

// Begins a new instance; returns how to end what is under way in the old one.
function renew() {
  const ended = underWay;
  generation += 1;
  isSetUp = isInside = false;
  underWay = new Set();
  restart();
  return ended;
}

// Gives the present instance up, once for each failure.
function giveUp(failedIn, error) {
  if (failedIn !== generation) return;
  const ended = renew();
  console.error(JSON.stringify({
    level: "ERROR",
    target: "shared_context::instance",
    message: "an instance failed and was given up",
    reason: String(error?.message ?? error),
    requests: ended.size,
  }));
  for (const end of ended) end(new Lost());
}

// Replaces an instance that has grown large, as soon as nothing is under way in it.
function slimmed() {
  if (underWay.size === 0 && entered(isBloated)) renew();
}

class Lost extends Error {
  constructor() {
    super("the instance failed under this request");
  }
}

// What fails after a pause arrives here, and what a call that was ended from
// outside left behind. A callback of an instance that was given up is refused, and
// that is all.
addEventListener("error", (event) => {
  if (!String(event.message).includes("from previous W")) giveUp(generation, event.error);
});

// Does `work`, which calls into the instance. What it has to wait for ends at once
// if the instance does.
function entered(work) {
  if (isInside) {
    giveUp(generation, new Error("a call into the instance was ended from outside"));
    throw new Lost();
  }
  const began = generation;
  let result;
  isInside = true;
  try {
    result = work();
  } catch (error) {
    if (!isBroken(error)) throw error;
    giveUp(began, error);
    throw new Lost();
  } finally {
    isInside = false;
  }
  return result instanceof Promise ? unlessLost(result) : result;
}

// What Rust throws is an `Error`; these come from the instance itself.
function isBroken(error) {
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
}

async function unlessLost(promise) {
  const [lost, forget] = ifLost();
  try {
    return await Promise.race([promise, lost]);
  } finally {
    forget();
  }
}

// A promise that fails when the instance does, and how to forget it.
function ifLost() {
  let end;
  const lost = new Promise((_, reject) => (end = reject));
  lost.catch(() => {});
  const present = underWay;
  present.add(end);
  return [lost, () => present.delete(end)];
}

// `stream`, which ends with an error when the instance does.
function streamed(stream) {
  const reader = stream.getReader();
  const [lost, forget] = ifLost();
  return new ReadableStream({
    async pull(controller) {
      let done = true, value;
      try {
        ({ done, value } = await Promise.race([reader.read(), lost]));
      } finally {
        if (done) forget();
      }
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel(reason) {
      forget();
      return reader.cancel(reason);
    },
  });
}

// Sets the present instance up from the bindings. Throws what the operator has to
// do when that cannot be.
function prepare(env) {
  if (isSetUp) return;
  const [seed] = crypto.getRandomValues(new BigUint64Array(1));
  // A binding that is not set may be null, and one may be a number.
  const set = (name) => env[name] == null ? undefined : String(env[name]);
  entered(() => setUp(
    set("SHARED_CONTEXT_SECRET"),
    set("SHARED_CONTEXT_ADMIN_KEY"),
    set("SHARED_CONTEXT_RATE"),
    set("SHARED_CONTEXT_PUBLIC_URL"),
    set("SHARED_CONTEXT_LOCAL"),
    seed,
  ));
  isSetUp = true;
}

function headersOf(request) {
  const lines = [];
  for (const [name, value] of request.headers) lines.push(name, value);
  return lines.join("\n");
}

// A response as Rust tells it: status, headers, body. No name occurs twice.
function response([status, text, body, webSocket]) {
  const lines = text.split("\n");
  const headers = {};
  for (let at = 0; at + 1 < lines.length; at += 2) headers[lines[at]] = lines[at + 1];
  if (body instanceof ReadableStream) body = streamed(body);
  return new Response(body, { status, headers, webSocket });
}

// Most bodies are shorter than this; of longer ones it is asked how much is read.
const ASKED_ABOVE = 64 * 1024;
// How much of a body that is too long is still taken, so that a client that sends
// all before it listens hears why it is refused.
const REFUSED_BYTES_MAX = 32 * 1024 * 1024;

// The body of a request, or nothing where it is too long.
async function bodyOf(request, headers) {
  if (request.body === null) return new Uint8Array();
  try {
    return await received(request, headers);
  } catch (error) {
    throw error instanceof Lost ? error : new Cut();
  }
}

async function received(request, headers) {
  const told = Number(request.headers.get("content-length") ?? Infinity);
  if (told <= ASKED_ABOVE) return new Uint8Array(await request.arrayBuffer());
  const most = entered(() => bodyBytesMax(request.method, request.url, headers));
  if (told <= most) return new Uint8Array(await request.arrayBuffer());
  const parts = [];
  let length = 0;
  for await (const part of request.body) {
    length += part.byteLength;
    if (length > REFUSED_BYTES_MAX) break;
    if (length <= most) parts.push(part);
  }
  if (length > most) return undefined;
  const body = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    body.set(part, at);
    at += part.byteLength;
  }
  return body;
}

// Answers a request with what is made of it by the function that `responder` gives.
async function answered(request, env, responder) {
  try {
    prepare(env);
    const headers = headersOf(request);
    const body = await bodyOf(request, headers);
    slimmed();
    // The instance may be another one by now.
    prepare(env);
    const respond = responder();
    const parts = entered(() => respond(request.method, request.url, headers, body));
    return response(parts instanceof Promise ? await parts : parts);
  } catch (error) {
    return refused(request, env, error);
  }
}

// A client that did not send all of its request.
class Cut extends Error {}

// The answer to a request that failed here, or on its way to an object.
function refused(request, env, error) {
  const isUnavailable = error.retryable === true || error.overloaded === true;
  const why = error instanceof Cut ? "cut" : isUnavailable ? "unavailable" : "lost";
  if (!(error instanceof Cut || error instanceof Lost)) console.error(error.stack ?? String(error));
  try {
    prepare(env);
  } catch (error) {
    return unprepared(error);
  }
  try {
    return response(entered(() => refuse(request.method, request.url, headersOf(request), why)));
  } catch (error) {
    return unprepared(error);
  }
}

// The answer while this Worker cannot even refuse.
function unprepared(error) {
  const detail = error.message;
  const body = {
    type: "urn:shared-context:error:INTERNAL",
    title: "This request failed inside the server",
    status: 500,
    detail,
    error: { code: "INTERNAL", message: detail },
  };
  const headers = { "content-type": "application/problem+json" };
  return new Response(JSON.stringify(body), { status: 500, headers });
}

/** Where requests arrive. */
export default class extends WorkerEntrypoint {
  async fetch(request) {
    const { env } = this;
    let name;
    try {
      prepare(env);
      const authorization = request.headers.get("authorization") ?? undefined;
      name = entered(() => destination(request.method, request.url, authorization));
    } catch (error) {
      return refused(request, env, error);
    }
    if (name === undefined) {
      return answered(request, env, () => (...parts) => respond(env, ...parts));
    }
    try {
      return await env.BUCKET.getByName(name).fetch(request);
    } catch (error) {
      return refused(request, env, error);
    }
  }
}

// How much a client may say at a time on a WebSocket: as much as a ping of its own.
const SAID_CHARS_MAX = 4096;

/** One bucket: a session's. */
export class Bucket extends DurableObject {
  #object;
  #generation;

  // The object in the present instance.
  #inner() {
    prepare(this.env);
    if (this.#generation !== generation) {
      this.#object = entered(() => new BucketObject(this.ctx, this.env));
      this.#generation = generation;
    }
    return this.#object;
  }

  fetch(request) {
    return answered(request, this.env, () => {
      const inner = this.#inner();
      return (...parts) => inner.respond(...parts);
    });
  }

  invoke(scope, caller, request) {
    const inner = this.#inner();
    return entered(() => inner.invoke(scope, caller, request));
  }

  // What a client says means nothing, and much of it costs what all share.
  webSocketMessage(socket, message) {
    if (typeof message === "string" && message.length <= SAID_CHARS_MAX) return;
    socket.close(1009, "nothing is listened to here");
    return this.webSocketClose(socket);
  }

  webSocketClose(socket) {
    const inner = this.#inner();
    return entered(() => inner.socketLeft(socket));
  }

  webSocketError(socket) {
    return this.webSocketClose(socket);
  }

  alarm() {
    const inner = this.#inner();
    return entered(() => inner.alarm());
  }
}

/** Which sessions there are. */
export class Directory extends DurableObject {
  #object;
  #generation;

  #inner() {
    if (this.#generation !== generation) {
      this.#object = entered(() => new DirectoryObject(this.ctx));
      this.#generation = generation;
    }
    return this.#object;
  }

  enter(id) {
    const inner = this.#inner();
    return entered(() => inner.enter(id));
  }

  strikeOut(id, revision) {
    const inner = this.#inner();
    return entered(() => inner.strikeOut(id, revision));
  }

  list(after, limit) {
    const inner = this.#inner();
    return entered(() => inner.list(after, limit));
  }
}
