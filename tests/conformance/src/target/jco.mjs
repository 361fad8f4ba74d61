// A wrapper of the Worker of `examples/cloudflare-jco` for the conformance suite. It replaces the
// Worker and forwards every request to it, except for
//
//   POST /-/clock {"at": ms}    stops the clock at this instant
//   POST /-/logged              returns the lines that were logged since the last call

import * as example from "./example.mjs";

const realNow = Date.now;
let now;
Date.now = () => now ?? realNow();

let lines = [];
const print = console.log;
console.log = (line) => {
  lines.push(JSON.parse(line));
  print(line);
};

const sessions = new Set();

export class Session extends example.Session {
  constructor(ctx, env) {
    // Alarms would remove expired entries at random points between two steps of a case.
    Object.getPrototypeOf(ctx.storage).setAlarm = async () => {};
    super(ctx, env);
    sessions.add(ctx.id.name);
  }

  async isStored() {
    await this.ctx.storage.sync();
  }
}

const tools = {
  "/-/clock": async (env, request) => {
    now = (await request.json()).at;
    return {};
  },
  "/-/logged": async (env) => {
    // Log lines are written shortly after the reply.
    for (const name of sessions) await env.SESSION.getByName(name).isStored();
    const logged = lines;
    lines = [];
    return logged;
  },
};

export default {
  async fetch(request, env) {
    const tool = tools[new URL(request.url).pathname];
    if (tool === undefined) return example.default.fetch(request, env);
    return Response.json(await tool(env, request));
  },
};
