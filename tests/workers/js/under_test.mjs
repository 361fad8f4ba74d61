// The test module around the Worker. It takes the Worker's place, passes all requests on
// unchanged, and executes commands under `/-/`. The Worker itself contains no hooks.
//
// It controls the Worker from below: it replaces the clock (`Date`, `performance`) and the
// methods of Durable Object storage by versions that check `state` first. Everything runs
// in one isolate, so a setting of one request applies to all.
//
// A command is `POST /-/<what>` with JSON and is answered with JSON: see `tools` below.

import * as production from "./worker.mjs";
import trapModule from "./trap.wasm";

const trap = new WebAssembly.Instance(trapModule).exports.trap;
const RealDate = Date;
const realNow = Date.now;
const realPerformanceNow = performance.now;
/** A delay longer than any test. */
const NEVER_MS = 365 * 86_400_000;

const state = {
  /** `null` for the real clock; `at` stops it, `ahead` shifts it; in milliseconds. */
  clock: null,
  /** True if alarms never fire. */
  heldAlarms: false,
  /** The behaviour of storage, and the object it applies to (`null`: all). */
  storage: { mode: "works", object: null },
  /** The trap at the next read of a clock: see `tools.poison`. */
  poison: null,
  /** The next abort: see `tools.abort`. */
  abort: null,
  /** By object: how often it was constructed, and the tables it last found then. */
  built: {},
  /** By object: whether it is in memory. */
  alive: {},
  /** By class and method: the number of calls. */
  calls: {},
  statements: [],
  /** By object: the time of its alarm, by the test clock. */
  alarms: {},
  alarmsSet: 0,
  /** The number of WebAssembly instances after the first. */
  instances: 0,
  /** True if `storage.sync()` waits. */
  syncIsHeld: false,
  /** Events since the last `reset`. */
  deeds: [],
};

// --- the clock

function testNow() {
  if (state.clock === null) return realNow();
  return state.clock.at ?? realNow() + state.clock.ahead;
}

class TestDate extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(readClock(testNow()));
    else super(...parts);
  }
  static now() {
    return readClock(testNow());
  }
}
globalThis.Date = TestDate;
performance.now = function () {
  return readClock(realPerformanceNow.call(performance));
};

/** Returns `now`, or traps in WebAssembly if a test has asked for it. */
function readClock(now) {
  const poison = state.poison;
  if (poison === null || (poison.object !== null && !poison.isArmed)) return now;
  if (poison.skip > 0) {
    poison.skip -= 1;
    return now;
  }
  state.poison = null;
  state.deeds.push({ what: "poisoned", object: poison.object });
  trap();
}

// --- the instance

const RealInstance = WebAssembly.Instance;
WebAssembly.Instance = function (...parts) {
  state.instances += 1;
  return new RealInstance(...parts);
};

// --- storage

/** The object that owns a storage or its `sql`. */
const owners = new WeakMap();
const real = {};
let inTransaction = false;

function failure() {
  return new Error("told to fail");
}

function mode(object) {
  const { mode, object: only } = state.storage;
  return only === null || only === object?.name ? mode : "works";
}

function abortAt(where, object) {
  const abort = state.abort;
  if (abort === null || abort.where !== where || abort.object !== object.name) return;
  state.abort = null;
  state.deeds.push({ what: "aborted", object: object.name });
  state.alive[object.name] = false;
  object.ctx.abort(new Error("aborted by a test"));
}

function isWrite(query) {
  return /^\s*(insert|update|delete|replace)\b/i.test(query);
}

/** Runs `commit`, or makes it fail as configured. */
function committed(object, commit) {
  switch (mode(object)) {
    case "reads_fail":
    case "commits_fail":
      throw failure();
    case "answers_lost":
      commit();
      throw failure();
    case "too_large":
      throw new Error("string or blob too big: SQLITE_TOOBIG");
    default: {
      abortAt("before_commit", object);
      const result = commit();
      abortAt("after_commit", object);
      return result;
    }
  }
}

function patch(ctx) {
  const sql = Object.getPrototypeOf(ctx.storage.sql);
  const storage = Object.getPrototypeOf(ctx.storage);
  if (real.exec !== undefined) return;
  real.exec = sql.exec;
  for (const name of ["transactionSync", "setAlarm", "getAlarm", "deleteAlarm", "deleteAll", "sync"]) {
    real[name] = storage[name];
  }
  sql.exec = function (query, ...values) {
    const object = owners.get(this);
    if (mode(object) === "reads_fail") throw failure();
    if (state.poison !== null && state.poison.object === object.name) state.poison.isArmed = true;
    abortAt("statement", object);
    const run = () => {
      const cursor = real.exec.call(this, query, ...values);
      state.statements.push({ object: object.name, query, cursor });
      return cursor;
    };
    return inTransaction || !isWrite(query) ? run() : committed(object, run);
  };
  storage.transactionSync = function (work) {
    const object = owners.get(this);
    const conflicts = mode(object) === "commits_conflict";
    if (conflicts) pushRevision(object, 1_000_000);
    inTransaction = true;
    try {
      return committed(object, () => real.transactionSync.call(this, work));
    } finally {
      inTransaction = false;
      if (conflicts) pushRevision(object, -1_000_000);
    }
  };
  storage.setAlarm = function (time, ...options) {
    const object = owners.get(this);
    const at = Number(time);
    state.alarms[object.name] = at;
    state.alarmsSet += 1;
    if (mode(object) === "alarms_fail") return Promise.reject(failure());
    return real.setAlarm.call(this, realInstant(at), ...options);
  };
  storage.getAlarm = async function (...options) {
    const alarm = await real.getAlarm.call(this, ...options);
    const { name } = owners.get(this);
    if (alarm === null) return null;
    return state.alarms[name] ?? alarm + testNow() - realNow();
  };
  storage.sync = async function (...options) {
    // Polled, because a request must not wait for a promise that another one resolves.
    while (state.syncIsHeld) await new Promise((wake) => setTimeout(wake, 10));
    return real.sync.call(this, ...options);
  };
  storage.deleteAlarm = function (...options) {
    delete state.alarms[owners.get(this).name];
    return real.deleteAlarm.call(this, ...options);
  };
  storage.deleteAll = async function (...options) {
    const object = owners.get(this);
    if (["reads_fail", "commits_fail"].includes(mode(object))) throw failure();
    await real.deleteAll.call(this, ...options);
    state.deeds.push({ what: "emptied", object: object.name });
    delete state.alarms[object.name];
    if (mode(object) === "answers_lost") throw failure();
  };
}

/** Converts the test clock's instant `at` to the real clock. */
function realInstant(at) {
  if (state.clock?.at !== undefined || state.heldAlarms) {
    return !state.heldAlarms && at <= testNow() ? realNow() : realNow() + NEVER_MS;
  }
  return at - testNow() + realNow();
}

/** Changes the stored revision, so that it differs from the one the object has cached. */
function pushRevision(object, by) {
  if (tables(object.ctx).rows === undefined) return;
  const push = "UPDATE rows SET revision = revision + ? WHERE revision IS NOT NULL";
  real.exec.call(object.ctx.storage.sql, push, by).toArray();
}

// --- the objects

function around(Production, className) {
  class Around extends Production {
    constructor(ctx, env) {
      patch(ctx);
      const name = className === "Bucket" ? (ctx.id.name ?? String(ctx.id)) : className;
      const object = { name, ctx };
      owners.set(ctx.storage, object);
      owners.set(ctx.storage.sql, object);
      const found = tables(ctx);
      const built = (state.built[name] ??= { times: 0 });
      built.times += 1;
      built.found = found;
      state.alive[name] = true;
      super(ctx, env);
      objects.set(this, object);
    }

    /** Returns the contents of its storage, now and when this instance was constructed. */
    async testLook() {
      const { name, ctx } = objects.get(this);
      const now = tables(ctx);
      const alarm = await real.getAlarm.call(ctx.storage);
      const bytes = ctx.storage.sql.databaseSize;
      return { found: state.built[name].found, now, alarm, bytes, longest: longest(ctx, now) };
    }

    testAbort() {
      const { name, ctx } = objects.get(this);
      state.alive[name] = false;
      ctx.abort(new Error("evicted by a test"));
    }

    async testRearm() {
      const { name, ctx } = objects.get(this);
      const at = state.alarms[name];
      if (at !== undefined) await real.setAlarm.call(ctx.storage, realInstant(at));
    }
  }
  const names = new Set();
  for (let it = Production.prototype; it.constructor !== Object; it = Object.getPrototypeOf(it)) {
    for (const name of Object.getOwnPropertyNames(it)) {
      if (typeof Object.getOwnPropertyDescriptor(it, name).value === "function") names.add(name);
    }
  }
  for (const name of names) {
    if (name === "constructor") continue;
    Around.prototype[name] = function (...values) {
      const called = `${className}.${name}`;
      state.calls[called] = (state.calls[called] ?? 0) + 1;
      if (name === "alarm") delete state.alarms[objects.get(this).name];
      return Production.prototype[name].apply(this, values);
    };
  }
  return Around;
}

const objects = new WeakMap();

/** Returns the number of rows of each table. */
function tables(ctx) {
  const { sql } = ctx.storage;
  const names = real.exec.call(
    sql,
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*' AND name NOT GLOB 'sqlite_*'",
  );
  const counted = {};
  for (const [name] of [...names.raw()]) {
    counted[name] = [...real.exec.call(sql, `SELECT count(*) FROM "${name}"`).raw()][0][0];
  }
  return counted;
}

/** Returns the length of the longest stored row in bytes. */
function longest(ctx, { rows }) {
  if (rows === undefined) return 0;
  const longest = "SELECT max(length(name) + length(value)) FROM rows";
  return [...real.exec.call(ctx.storage.sql, longest).raw()][0][0] ?? 0;
}

export const Bucket = around(production.Bucket, "Bucket");
export const Directory = around(production.Directory, "Directory");

// --- the entry

function stub(env, name) {
  const namespace = name === "Directory" ? env.DIRECTORY : env.BUCKET;
  const id = name === "Directory" ? "directory" : name;
  return namespace.get(namespace.idFromName(id));
}

async function evict(env, names) {
  for (const name of names) {
    // The abort ends the object in the middle of this call.
    await stub(env, name).testAbort().catch(() => {});
  }
}

function alive() {
  return Object.keys(state.alive).filter((name) => state.alive[name]);
}

function counted() {
  const counts = { statements: 0, rows_read: 0, rows_written: 0 };
  for (const { cursor } of state.statements) {
    counts.statements += 1;
    counts.rows_read += cursor.rowsRead;
    counts.rows_written += cursor.rowsWritten;
  }
  const queries = state.statements.map(({ object, query, cursor }) => {
    return `${object}: ${query} (${cursor.rowsRead} read, ${cursor.rowsWritten} written)`;
  });
  return { ...counts, alarms_set: state.alarmsSet, calls: state.calls, queries };
}

const tools = {
  /**
   * Sets the clock: stopped `at` an instant, `ahead` of the real one, or back to the real
   * one. With `held`, alarms do not fire, whatever the time.
   */
  async clock(env, { at, ahead, held }) {
    state.clock = at !== undefined ? { at } : ahead !== undefined ? { ahead } : null;
    state.heldAlarms = held ?? false;
    if (state.heldAlarms) return {};
    for (const name of Object.keys(state.alarms)) await stub(env, name).testRearm();
    return {};
  },
  /**
   * Sets the behaviour of storage: `works`, `reads_fail`, `commits_fail`, `answers_lost`,
   * `commits_conflict`, `too_large`, `alarms_fail`; for all objects, or for `object` alone.
   */
  async storage(env, { mode, object }) {
    // Objects in memory would answer from their caches.
    if (mode === "reads_fail") await evict(env, alive());
    state.storage = { mode, object: object ?? null };
    return {};
  },
  /** Makes `storage.sync()` wait, or continue. */
  sync(env, { held }) {
    state.syncIsHeld = held;
    return {};
  },
  /**
   * Makes the Worker's WebAssembly trap when it next reads a clock: at once, after `skip`
   * reads, or after the next statement of `object`.
   */
  poison(env, { skip, object }) {
    state.poison = { skip: skip ?? 0, object: object ?? null, isArmed: false };
    return {};
  },
  /** Withdraws a poison or an abort; returns whether it had not happened yet. */
  antidote() {
    const left = state.poison !== null || state.abort !== null;
    state.poison = null;
    state.abort = null;
    return { left };
  },
  /**
   * Aborts `object` in the middle of a request, as the platform does at its time limit: at
   * its next statement, before or after its next commit.
   */
  abort(env, { object, where }) {
    state.abort = { object, where };
    return {};
  },
  /** Evicts `object`, or all objects, from memory. */
  async evict(env, { object }) {
    const names = object === undefined ? alive() : [object];
    await evict(env, names);
    return { names };
  },
  /** Returns the counts since the last `reset`. */
  counts: () => counted(),
  reset() {
    state.statements = [];
    state.calls = {};
    state.alarmsSet = 0;
    state.deeds = [];
    return {};
  },
  /**
   * Returns the objects that were constructed, how often, and which are in memory; and the
   * number of WebAssembly instances after the first.
   */
  objects: () => ({ built: state.built, alive: alive(), instances: state.instances }),
  /** Returns the events since the last `reset`, and the alarms that are set. */
  deeds: () => ({ deeds: state.deeds, alarms: state.alarms }),
  /** Returns the contents of the storage of `object`, constructing it if necessary. */
  look: (env, { object }) => stub(env, object).testLook(),
};

export default class extends production.default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (!pathname.startsWith("/-/")) return super.fetch(request);
    const tool = tools[pathname.slice(3)];
    if (tool === undefined) return new Response("no such tool", { status: 404 });
    try {
      return Response.json((await tool(this.env, await request.json())) ?? {});
    } catch (error) {
      return new Response(`${error} ${error.stack}`, { status: 500 });
    }
  }
}
