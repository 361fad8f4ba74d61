// A minimal Durable Object for shared entries, without rules or access checks: any client may read
// and write.

import { DurableObject } from "cloudflare:workers";

export class Session extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS entry (key TEXT PRIMARY KEY, value TEXT NOT NULL, version INTEGER NOT NULL)",
    );
  }

  async fetch(request) {
    const { action, key, value } = await request.json();
    switch (action) {
      case "read":
        return this.#read(key);
      case "write":
        return this.#write(key, value);
    }
    return Response.json({ error: "there are read and write" }, { status: 400 });
  }

  #read(key) {
    const [entry] = this.ctx.storage.sql
      .exec("SELECT key, value, version FROM entry WHERE key = ?", key)
      .toArray();
    if (entry === undefined) return Response.json({ error: "no such entry" }, { status: 404 });
    return Response.json(entry);
  }

  #write(key, value) {
    const { version } = this.ctx.storage.sql
      .exec(
        `INSERT INTO entry (key, value, version) VALUES (?, ?, 1)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = version + 1
         RETURNING version`,
        key,
        value,
      )
      .one();
    return Response.json({ key, version });
  }
}

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    const [, session] = /^\/v1\/sessions\/([^/]+)\/shared_context$/.exec(pathname) ?? [];
    if (session === undefined) return new Response("not found", { status: 404 });
    return env.SESSION.get(env.SESSION.idFromName(session)).fetch(request);
  },
};
