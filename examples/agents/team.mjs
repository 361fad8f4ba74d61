// A team of three over MCP with the official TypeScript SDK: an orchestrator and two subagents,
// each with its own credential. No model is called: `work` stands for one.
//
//     npm install @modelcontextprotocol/sdk
//     SHARED_CONTEXT_URL=http://127.0.0.1:8787 SHARED_CONTEXT_TOKEN=... node team.mjs

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { SHARED_CONTEXT_URL, SHARED_CONTEXT_TOKEN } = process.env;

/** Connects one member of the team. Its credential says who it is. */
async function member(credential) {
  const client = new Client({ name: "team", version: "1" });
  const headers = { Authorization: `Bearer ${credential}` };
  const url = new URL(`${SHARED_CONTEXT_URL}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  return client;
}

async function call(client, name, args = {}) {
  const result = await client.callTool({ name, arguments: args });
  if (result.isError) throw new Error(result.content[0].text);
  return result.structuredContent;
}

/** Stands for a subagent: reads what it needs, and writes what it concluded. */
async function work(task, credential) {
  const client = await member(credential);
  const { entries } = await call(client, "context_read", { keys: ["problem_summary"] });
  const value = `${task}: ${entries[0].value}`;
  await call(client, "context_write", { key: `${task}_findings`, value });
  await client.close();
}

const orchestrator = await member(SHARED_CONTEXT_TOKEN);
await call(orchestrator, "context_write", { key: "problem_summary", value: "It is slow." });
for (const task of ["analysis", "review"]) {
  const added = await call(orchestrator, "context_session", { action: "add_subagent", task });
  await work(task, added.credential);
}
for (const entry of (await call(orchestrator, "context_list")).keys) {
  console.log(`${entry.key}: written by ${entry.written_by}`);
}
await orchestrator.close();
