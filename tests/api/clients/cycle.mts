// The interaction cycle of spec 10 with a TypeScript client: types that openapi-typescript
// generated, and openapi-fetch.
//
// SHARED_CONTEXT_URL is the URL of the server, SHARED_CONTEXT_ADMIN_KEY its admin key.

import createClient from "openapi-fetch";

import type { components, paths } from "./schema.mjs";

declare const process: { env: Record<string, string | undefined> };
declare const console: { log(line: string): void };

type Reply = components["schemas"]["ToolReply"];
type ErrorCode = components["schemas"]["ErrorCode"];

const SESSION = "capa-2026-015";
const PROBLEM = "Throughput dropped 30% after config change on Feb 18.";
const FINDINGS =
  "Connection pool size reduced from 200 to 20. Restoring to 200 resolves throughput.";
const QUESTION = "Was the pool size change intentional?";
const path = { session: SESSION };

function client(credential: string) {
  const headers = { Authorization: `Bearer ${credential}` };
  return createClient<paths>({ baseUrl: process.env["SHARED_CONTEXT_URL"] ?? "", headers });
}

function assert(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(JSON.stringify(what));
}

/** Returns the reply of an answer, or fails with its problem. */
function expect<T>(answer: { data?: T; error?: unknown }): T {
  assert(answer.data !== undefined, answer.error);
  return answer.data;
}

const admin = client(process.env["SHARED_CONTEXT_ADMIN_KEY"] ?? "");
const created = expect(await admin.POST("/v1/sessions", { body: { session_id: SESSION } }));
const orchestrator = client(created.credential);

async function subagent(task: string) {
  const body = { participant: `subagent:${task}` };
  const minted = expect(
    await orchestrator.POST("/v1/sessions/{session}/credentials", { params: { path }, body }),
  );
  return client(minted.credential);
}

// The orchestrator prepares the work.
for (const _ of [1, 2]) {
  const batch = expect(
    await orchestrator.POST("/v1/sessions/{session}/batch", {
      params: { path, header: { "Idempotency-Key": "start" } },
      body: {
        writes: [
          { key: "current_phase", value: "analysis" },
          { key: "problem_summary", value: PROBLEM },
          { key: "scope", value: "Identify which parameter. Do not modify production." },
          { key: "constraints", value: "Read-only access to prod." },
        ],
      },
    }),
  );
  assert(batch.revision === 2, batch);
}

// A subagent finds out. Requests of the JSON tool are told apart by their action.
const analysis = await subagent("analysis");
const tool = "/v1/sessions/{session}/shared_context";
const listed: Reply = expect(
  await analysis.POST(tool, { params: { path }, body: { action: "list_keys" } }),
);
assert("keys" in listed, listed);
const problem = expect(
  await analysis.POST(tool, { params: { path }, body: { action: "read", key: "problem_summary" } }),
);
assert("value" in problem && problem.value === PROBLEM, problem);
const several = expect(
  await analysis.POST("/v1/sessions/{session}/batch/read", {
    params: { path },
    body: { keys: ["scope", "constraints", "open_questions"] },
  }),
);
assert("missing" in several && several.missing.join() === "open_questions", several);
expect(
  await analysis.POST(tool, {
    params: { path },
    body: { action: "write", key: "findings_summary", value: FINDINGS },
  }),
);
const entry = "/v1/sessions/{session}/entries/{key}";
const at = (key: string) => ({ path: { session: SESSION, key } });
const asked = expect(
  await analysis.PUT(entry, {
    params: { ...at("open_questions"), header: { "If-None-Match": "*" } },
    body: { value: QUESTION },
  }),
);
assert(asked.written_by === "subagent:analysis", asked);

// The orchestrator asks its user, decides, and goes on.
const question = expect(await orchestrator.GET(entry, { params: at("open_questions") }));
assert("value" in question && question.value === QUESTION, question);
const decision = { value: "Config change was accidental. User approves revert." };
expect(await orchestrator.PUT(entry, { params: at("decisions_made"), body: decision }));
expect(await orchestrator.DELETE(entry, { params: at("open_questions") }));

// The next subagent knows what to do.
const remediation = await subagent("remediation");
for (const key of ["findings_summary", "decisions_made"]) {
  const read = expect(await remediation.GET(entry, { params: at(key) }));
  assert("value" in read && read.value.length > 0, read);
}

// Errors have types, too.
const missing = await remediation.GET(entry, { params: at("open_questions") });
const expected: ErrorCode = "KEY_NOT_FOUND";
assert(missing.error?.error.code === expected && missing.error.status === 404, missing.error);
const stale = await remediation.PUT(entry, {
  params: { ...at("scope"), header: { "If-Match": '"1"' } },
  body: { value: "x" },
});
assert(stale.error?.error.code === "VERSION_CONFLICT", stale.error);

const keys = expect(
  await orchestrator.GET("/v1/sessions/{session}/entries", { params: { path } }),
);
assert("keys" in keys, keys);
const writers = new Map(keys.keys.map((it) => [it.key, it.written_by]));
for (const key of ["decisions_made", "findings_summary", "problem_summary"]) {
  console.log(`${key}: written by ${writers.get(key)}`);
}
