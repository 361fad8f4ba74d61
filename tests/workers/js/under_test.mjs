// Around the Worker, what tests need: this module takes its place, passes everything on
// to it unchanged, and does under `/-/` what it is told. The Worker's own bytes hold
// nothing of this.
//
// It reaches into the Worker from below: the clock (`Date`), the methods of Durable
// Object storage and of `performance` are replaced by such that ask `state` first. All
// of it is in one isolate, so what one request sets holds for all.
//
// `POST /-/<what>` with JSON, answered with JSON: see `tools` below.

import * as production from "./worker.mjs";
import trapModule from "./trap.wasm";

const trap = new WebAssembly.Instance(trapModule).exports.trap;
const RealDate = Date;
const realNow = Date.now;
const realPerformanceNow = performance.now;
/** An instant that does not come while a test runs. */
const NEVER_MS = 365 * 86_400_000;

const state = {
  /** `null`: the real one. `at` stands still, `ahead` goes on; in milliseconds. */
  clock: null,
  /** Whether alarms wait until the test clock has come that far. */
  heldAlarms: false,
  /** What storage does: a mode, and of which objects (all when there is none). */
  storage: { mode: "works", object: null },
  /** What happens at the next look at a clock: see `tools.poison`. */
  poison: null,
  /** Where the next abort happens: see `tools.abort`. */
  abort: null,
  /** By object: how often it was constructed, and what it found then. */
  built: {},
  /** By object: whether it is there. */
  alive: {},
  /** By class and method: how often it was called. */
  calls: {},
  statements: [],
  /** By object: when it wants to be woken, by the test clock; and other deeds. */
  alarms: {},
  alarmsSet: 0,
  /** How many instances of the WebAssembly were made after the first. */
  instances: 0,
  /** Whether what is written does not become durable. */
  syncIsHeld: false,
  deeds: [],
};

// --- the clock

function testNow() {
  if (state.clock === null) return realNow();
  return state.clock.at ?? realNow() + state.clock.ahead;
}

class TestDate extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(looked(testNow()));
    else super(...parts);
  }
  static now() {
    return looked(testNow());
  }
}
globalThis.Date = TestDate;
performance.now = function () {
  return looked(realPerformanceNow.call(performance));
};

/** Somebody looks at a clock: from inside of WebAssembly, if a test says so. */
function looked(now) {
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

/** By storage and by its `sql`: whose they are. */
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

/** Does `commit`, or lets it fail as it was told. */
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
    // Checked anew now and then: what one request resolves, another may not wait for.
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

/** When, by the real clock, it is `at` by the test's. */
function realInstant(at) {
  if (state.clock?.at !== undefined || state.heldAlarms) {
    return !state.heldAlarms && at <= testNow() ? realNow() : realNow() + NEVER_MS;
  }
  return at - testNow() + realNow();
}

/** Lets the stored revision be another than the object believes. */
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

    /** What is in its storage, as it is and as it was found by this instance. */
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

/** The tables there are, with how many rows each has. */
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

/** The length of the longest value that is stored, in bytes. */
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
    // It goes in the middle of this call.
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
   * Sets the clock: `at` an instant at which it stands still, `ahead` of the real one,
   * or back to the real one. `held`: alarms do not come, whatever it says.
   */
  async clock(env, { at, ahead, held }) {
    state.clock = at !== undefined ? { at } : ahead !== undefined ? { ahead } : null;
    state.heldAlarms = held ?? false;
    if (state.heldAlarms) return {};
    for (const name of Object.keys(state.alarms)) await stub(env, name).testRearm();
    return {};
  },
  /**
   * Lets storage behave as told: `works`, `reads_fail`, `commits_fail`, `answers_lost`,
   * `commits_conflict`; of all objects, or of `object` alone.
   */
  async storage(env, { mode, object }) {
    // What an object knows it need not read.
    if (mode === "reads_fail") await evict(env, alive());
    state.storage = { mode, object: object ?? null };
    return {};
  },
  /** Lets `storage.sync()` wait, or go on. */
  sync(env, { held }) {
    state.syncIsHeld = held;
    return {};
  },
  /**
   * Lets the Worker's WebAssembly fail when it next looks at a clock: at once, after
   * `skip` looks, or after the next statement of `object`.
   */
  poison(env, { skip, object }) {
    state.poison = { skip: skip ?? 0, object: object ?? null, isArmed: false };
    return {};
  },
  /** Forgets a poison; tells whether it was still there. */
  antidote() {
    const left = state.poison !== null || state.abort !== null;
    state.poison = null;
    state.abort = null;
    return { left };
  },
  /**
   * Ends `object` in the middle of a request, as the platform does when it has had its
   * time: at its next statement, before or after its next commit.
   */
  abort(env, { object, where }) {
    state.abort = { object, where };
    return {};
  },
  /** Takes `object`, or all, out of memory. */
  async evict(env, { object }) {
    const names = object === undefined ? alive() : [object];
    await evict(env, names);
    return { names };
  },
  /** What was counted since the last `reset`. */
  counts: () => counted(),
  reset() {
    state.statements = [];
    state.calls = {};
    state.alarmsSet = 0;
    state.deeds = [];
    return {};
  },
  /**
   * Which objects were constructed, how often, and which of them are in memory; how
   * many instances of the WebAssembly were made anew.
   */
  objects: () => ({ built: state.built, alive: alive(), instances: state.instances }),
  /** What has happened since the last `reset`, and which alarms are set. */
  deeds: () => ({ deeds: state.deeds, alarms: state.alarms }),
  /** What is in the storage of `object`; it is constructed for that. */
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
