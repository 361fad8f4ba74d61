// The classes that the platform requires, and the path of a request between them.
// All decisions are made in Rust.
//
// A failure inside the WebAssembly instance (a trap, or an exception that passes
// through it) leaves the instance broken, and all objects of this isolate share it.
// So it is discarded: `restart` makes a new one, every request in flight in the old
// one is answered 500 at once, and the objects are loaded again from storage.

import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";
import {
  BucketObject,
  DirectoryObject,
  __wbg_reset_state as restart,
  bodyBytesMax,
  destination,
  isBloated,
  reject,
  respond,
  setUp,
} from "./build/glue/shared_context.js";

// For each request in flight in the current instance, a function that fails it.
let inFlight = new Set();
let generation = 0;
let isSetUp = false;
// True during a call into the instance. Calls are never nested, so a call that finds
// this set knows that the previous one was aborted: the platform does so when a
// request takes too long.
let isInside = false;

// Starts a new instance; returns the functions that fail the requests of the old one.
function renew() {
  const ended = inFlight;
  generation += 1;
  isSetUp = isInside = false;
  inFlight = new Set();
  restart();
  return ended;
}

// Discards the current instance, once for each failure.
function discard(failedIn, error) {
  if (failedIn !== generation) return;
  const ended = renew();
  console.error(JSON.stringify({
    level: "ERROR",
    target: "shared_context::instance",
    message: "an instance failed and was given up",
    reason: String(error?.message ?? error),
    requests: ended.size,
  }));
  for (const end of ended) end(new InstanceFailed());
}

// Replaces an instance that has grown large, as soon as no request is in flight.
function replaceIfBloated() {
  if (inFlight.size === 0 && call(isBloated)) renew();
}

class InstanceFailed extends Error {
  constructor() {
    super("the instance failed under this request");
  }
}

// Receives failures after a pause, and those that an aborted call left behind. Callbacks
// of a discarded instance fail too; these errors are ignored.
addEventListener("error", (event) => {
  if (!String(event.message).includes("from previous W")) discard(generation, event.error);
});

// Runs `work`, which calls into the instance. A promise that it returns is rejected at
// once if the instance fails.
function call(work) {
  if (isInside) {
    discard(generation, new Error("a call into the instance was ended from outside"));
    throw new InstanceFailed();
  }
  const began = generation;
  let result;
  isInside = true;
  try {
    result = work();
  } catch (error) {
    if (!isBroken(error)) throw error;
    discard(began, error);
    throw new InstanceFailed();
  } finally {
    isInside = false;
  }
  return result instanceof Promise ? guarded(result) : result;
}

// Returns true for errors of the instance itself. Rust code throws plain `Error`s.
function isBroken(error) {
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
}

// Waits for `promise`, but fails as soon as the instance does.
async function guarded(promise) {
  const [failed, forget] = instanceFailure();
  try {
    return await Promise.race([promise, failed]);
  } finally {
    forget();
  }
}

// Returns a promise that is rejected when the instance fails, and a function that
// forgets it.
function instanceFailure() {
  let end;
  const failed = new Promise((_, reject) => (end = reject));
  failed.catch(() => {});
  const present = inFlight;
  present.add(end);
  return [failed, () => present.delete(end)];
}

// Wraps `stream` so that it ends with an error when the instance fails.
function guardedStream(stream) {
  const reader = stream.getReader();
  const [failed, forget] = instanceFailure();
  return new ReadableStream({
    async pull(controller) {
      let done = true, value;
      try {
        ({ done, value } = await Promise.race([reader.read(), failed]));
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

// Sets the current instance up from the bindings. If that fails, throws an error that
// says what the operator has to do.
function prepare(env) {
  if (isSetUp) return;
  const [seed] = crypto.getRandomValues(new BigUint64Array(1));
  // An unset binding may be null, and a binding may be a number.
  const set = (name) => env[name] == null ? undefined : String(env[name]);
  call(() => setUp(
    set("SHARED_CONTEXT_SECRET"),
    set("SHARED_CONTEXT_ADMIN_KEY"),
    set("SHARED_CONTEXT_RATE"),
    set("SHARED_CONTEXT_PUBLIC_URL"),
    set("SHARED_CONTEXT_CORS_ORIGINS"),
    set("SHARED_CONTEXT_LOCAL"),
    set("SHARED_CONTEXT_MAINTAIN_DAILY"),
    seed,
  ));
  isSetUp = true;
}

function headersOf(request) {
  const lines = [];
  for (const [name, value] of request.headers) lines.push(name, value);
  return lines.join("\n");
}

// Builds a response from the parts that Rust returns: status, headers, body, WebSocket.
// No header name occurs twice.
function response([status, text, body, webSocket]) {
  const lines = text.split("\n");
  const headers = {};
  for (let at = 0; at + 1 < lines.length; at += 2) headers[lines[at]] = lines[at + 1];
  if (body instanceof ReadableStream) body = guardedStream(body);
  return new Response(body, { status, headers, webSocket });
}

// Most bodies are shorter than this. For longer ones Rust is asked for the limit.
const UNCHECKED_BYTES_MAX = 64 * 1024;
// The part of a too long body that is still read, so that a client which sends its
// whole body before it reads gets the error response.
const DRAINED_BYTES_MAX = 32 * 1024 * 1024;

// Reads the body of a request; returns undefined if it is too long.
async function bodyOf(request, headers) {
  if (request.body === null) return new Uint8Array();
  try {
    return await readBody(request, headers);
  } catch (error) {
    throw error instanceof InstanceFailed ? error : new IncompleteBody();
  }
}

async function readBody(request, headers) {
  const contentLength = Number(request.headers.get("content-length") ?? Infinity);
  if (contentLength <= UNCHECKED_BYTES_MAX) return new Uint8Array(await request.arrayBuffer());
  const most = call(() => bodyBytesMax(request.method, request.url, headers));
  if (contentLength <= most) return new Uint8Array(await request.arrayBuffer());
  const parts = [];
  let length = 0;
  for await (const part of request.body) {
    length += part.byteLength;
    if (length > DRAINED_BYTES_MAX) break;
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

// Answers a request with the function that `responder` returns.
async function answer(request, env, responder) {
  try {
    prepare(env);
    const headers = headersOf(request);
    const body = await bodyOf(request, headers);
    replaceIfBloated();
    // The instance may have been replaced meanwhile.
    prepare(env);
    const respond = responder();
    const parts = call(() => respond(request.method, request.url, headers, body));
    return response(parts instanceof Promise ? await parts : parts);
  } catch (error) {
    return rejection(request, env, error);
  }
}

// Thrown when a client did not send its whole request.
class IncompleteBody extends Error {}

// Returns the response to a request that failed here or while being forwarded.
function rejection(request, env, error) {
  const isUnavailable = error.retryable === true || error.overloaded === true;
  const isIncomplete = error instanceof IncompleteBody;
  const why = isIncomplete ? "cut" : isUnavailable ? "unavailable" : "lost";
  if (!(isIncomplete || error instanceof InstanceFailed)) {
    console.error(error.stack ?? String(error));
  }
  try {
    prepare(env);
  } catch (error) {
    return setupError(error);
  }
  try {
    return response(call(() => reject(request.method, request.url, headersOf(request), why)));
  } catch (error) {
    return setupError(error);
  }
}

// Returns the response while this Worker cannot be set up.
function setupError(error) {
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

/** The entry, where requests arrive. */
export default class extends WorkerEntrypoint {
  async fetch(request) {
    const { env } = this;
    let name;
    try {
      prepare(env);
      const authorization = request.headers.get("authorization") ?? undefined;
      name = call(() => destination(request.method, request.url, authorization));
    } catch (error) {
      return rejection(request, env, error);
    }
    if (name === undefined) {
      return answer(request, env, () => (...parts) => respond(env, ...parts));
    }
    try {
      return await env.BUCKET.getByName(name).fetch(request);
    } catch (error) {
      return rejection(request, env, error);
    }
  }
}

// The maximum length of a client's WebSocket message: enough for an application ping.
const CLIENT_MESSAGE_CHARS_MAX = 4096;

/** The bucket of one session. */
export class Bucket extends DurableObject {
  #object;
  #generation;

  // Returns the object in the current instance.
  #inner() {
    prepare(this.env);
    if (this.#generation !== generation) {
      this.#object = call(() => new BucketObject(this.ctx, this.env));
      this.#generation = generation;
    }
    return this.#object;
  }

  fetch(request) {
    return answer(request, this.env, () => {
      const inner = this.#inner();
      return (...parts) => inner.respond(...parts);
    });
  }

  invoke(scope, caller, request) {
    const inner = this.#inner();
    return call(() => inner.invoke(scope, caller, request));
  }

  // Clients' messages are ignored. Long ones use resources that all clients share, so
  // they close the socket.
  webSocketMessage(socket, message) {
    if (typeof message === "string" && message.length <= CLIENT_MESSAGE_CHARS_MAX) return;
    socket.close(1009, "nothing is listened to here");
    return this.webSocketClose(socket);
  }

  webSocketClose(socket) {
    const inner = this.#inner();
    return call(() => inner.socketLeft(socket));
  }

  webSocketError(socket) {
    return this.webSocketClose(socket);
  }

  alarm() {
    const inner = this.#inner();
    return call(() => inner.alarm());
  }
}

/** The directory of sessions or projects. */
export class Directory extends DurableObject {
  #object;
  #generation;

  #inner() {
    if (this.#generation !== generation) {
      this.#object = call(() => new DirectoryObject(this.ctx));
      this.#generation = generation;
    }
    return this.#object;
  }

  enter(id) {
    const inner = this.#inner();
    return call(() => inner.enter(id));
  }

  strikeOut(id, revision) {
    const inner = this.#inner();
    return call(() => inner.strikeOut(id, revision));
  }

  list(after, limit) {
    const inner = this.#inner();
    return call(() => inner.list(after, limit));
  }
}
