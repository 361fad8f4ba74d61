// A session as the state of an agent of Cloudflare's SDK, which stores it as one JSON string. The
// path follows the SDK's documentation: `/agents/session/{session}`.

import { Agent, routeAgentRequest } from "agents";

export class Session extends Agent {
  initialState = {};

  async onRequest(request) {
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
    const entry = this.state[key];
    if (entry === undefined) return Response.json({ error: "no such entry" }, { status: 404 });
    return Response.json({ key, ...entry });
  }

  #write(key, value) {
    const version = (this.state[key]?.version ?? 0) + 1;
    this.setState({ ...this.state, [key]: { value, version } });
    return Response.json({ key, version });
  }
}

export default {
  async fetch(request, env) {
    return (await routeAgentRequest(request, env)) ?? new Response("not found", { status: 404 });
  },
};
