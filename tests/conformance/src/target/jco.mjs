// Around the Worker of `examples/cloudflare-jco`, what the conformance suite needs: this
// module takes its place, and passes everything on to it but
//
//   POST /-/clock {"at": ms}    the clock stands still there
//   POST /-/logged              what the log was given since the last call

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
    // What expires unasked would come between two steps of a case, or not.
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
    // The log is told a moment after the caller is answered.
    for (const name of sessions) await env.SESSION.getByName(name).isStored();
    const told = lines;
    lines = [];
    return told;
  },
};

export default {
  async fetch(request, env) {
    const tool = tools[new URL(request.url).pathname];
    if (tool === undefined) return example.default.fetch(request, env);
    return Response.json(await tool(env, request));
  },
};
