// The interaction cycle of spec 10 with an official TypeScript client:
//
//   node cycle.mjs client|sdk VERSION http|stdio
//
// SHARED_CONTEXT_URL is the URL of the server, SHARED_CONTEXT_TOKEN the credential of the
// orchestrator of SESSION; PROGRAM bridges stdio to the server. HOST_KEEPS is `no` for a stateless
// server, which supports notifications in VERSION 2026-07-28 only.

import { check } from "./checks.mjs";
import { MODERN, Participant } from "./participant.mjs";

const [api, version, transport] = process.argv.slice(2);
const { SESSION: session, SHARED_CONTEXT_URL: server, SHARED_CONTEXT_TOKEN, PROGRAM } = process.env;
const hasNotifications = version === MODERN || process.env.HOST_KEEPS !== "no";
const connection = { api, version, server, program: transport === "stdio" ? PROGRAM : undefined };

const entry = (key) => `session://${session}/entries/${key}`;
const KEYS = `session://${session}/keys`;
const PROBLEM = "Throughput dropped 30% after config change on Feb 18.";
const FINDINGS =
  "Connection pool size reduced from 200 to 20 in Feb 18 config change.\n" +
  "Thread starvation under load. Staging test confirmed:\n" +
  "restoring to 200 resolves throughput.";
const QUESTION =
  "Was the pool size change intentional? Need user confirmation before recommending revert.";
const DECISION = "Config change was accidental. User approves revert recommendation.";

// The orchestrator states the problem.
let orchestrator;
await check("the orchestrator connects", "shared-context", async () => {
  orchestrator = await Participant.connect(connection, SHARED_CONTEXT_TOKEN);
  return orchestrator.name;
});
if (api === "client" || transport === "http") {
  await check("in the requested version", version, () => orchestrator.version);
}
const memory = ["list", "read", "changes", "write", "delete"].map((it) => `context_${it}`);
await check("it has all tools", [...memory, "context_session"], async () =>
  (await orchestrator.tools()).map((tool) => tool.name),
);
for (const [key, value] of [
  ["current_phase", "analysis"],
  ["problem_summary", PROBLEM],
  ["scope", "Identify which config parameter caused degradation. Do not modify production."],
  ["constraints", "Read-only access to prod. Staging available for experiments."],
]) {
  await check(`it writes ${key}`, "orchestrator", () => orchestrator.write(key, value));
}

/** Mints a credential as the orchestrator and connects with it. */
async function launch(task) {
  const { isError, participant, credential } = await orchestrator.call("context_session", {
    action: "add_subagent",
    task,
  });
  if (isError) throw new Error("no credential");
  return [participant, await Participant.connect(connection, credential)];
}

// A subagent looks for the cause. The orchestrator is notified of its findings.
let analysis;
await check("it launches an analysis", /^subagent:analysis(:|$)/, async () => {
  const [name, participant] = await launch("analysis");
  analysis = participant;
  return name;
});
await check("the analysis cannot mint credentials", memory, async () =>
  (await analysis.tools()).map((tool) => tool.name),
);
await check(
  "it sees the four keys",
  ["constraints", "current_phase", "problem_summary", "scope"],
  () => analysis.keys(),
);
await check("it reads the problem", PROBLEM, () => analysis.read("problem_summary"));
await check("it reads the scope", /^Identify /, () => analysis.read("scope"));
await check("it reads the constraints", /^Read-only /, () => analysis.read("constraints"));
const watched = [entry("findings_summary"), KEYS];
if (hasNotifications) {
  await check("the orchestrator subscribes", watched, () => orchestrator.subscribe(watched));
} else {
  await check("no subscriptions are offered", [undefined, undefined], () => orchestrator.offered());
}
await check("the analysis writes its findings", /^subagent:analysis(:|$)/, () =>
  analysis.write("findings_summary", FINDINGS),
);
await check("it writes its open question", /^subagent:analysis(:|$)/, () =>
  analysis.write("open_questions", QUESTION),
);
if (hasNotifications) {
  await check("the orchestrator is notified of the findings", watched[0], () =>
    orchestrator.waitForUpdate(watched[0]),
  );
  await check("it is notified of the keys", KEYS, () => orchestrator.waitForUpdate(KEYS));
  await check("it unsubscribes", "local", () => orchestrator.unsubscribe(watched));
}
await check("the analysis completes", undefined, () => analysis.leave());

// The orchestrator asks the user.
await check(
  "it sees the new keys",
  ["constraints", "current_phase", "findings_summary", "open_questions", "problem_summary", "scope"],
  () => orchestrator.keys(),
);
await check("it reads the question", QUESTION, () => orchestrator.read("open_questions"));
await check("it writes the decision", "orchestrator", () =>
  orchestrator.write("decisions_made", DECISION),
);
await check("it deletes the question", "open_questions", async () => {
  return (await orchestrator.useTool("context_delete", { key: "open_questions" })).deleted;
});

// Another subagent, which has never seen the problem.
let remediation;
await check("it launches a remediation", /^subagent:remediation(:|$)/, async () => {
  const [name, participant] = await launch("remediation");
  remediation = participant;
  return name;
});
await check("the remediation sees that the question is settled", false, async () =>
  (await remediation.keys()).includes("open_questions"),
);
await check("it reads the findings", FINDINGS, () => remediation.read("findings_summary"));
await check("it reads the decision", DECISION, () => remediation.read("decisions_made"));
await check("it writes its plan", /^subagent:remediation(:|$)/, () =>
  remediation.write("deliverables_status", "Remediation plan drafted. Approval pending."),
);

// The same with resources, prompts and completion, and an error.
await check("it finds the entries as resources", true, async () =>
  (await remediation.resources()).includes(KEYS),
);
await check("it finds the templates", true, async () =>
  (await remediation.templates()).includes("session://{session}/entries/{key}"),
);
await check("it reads an entry as a resource", [FINDINGS, "text/plain"], async () => {
  const { text, mimeType } = await remediation.resource(entry("findings_summary"));
  return [text, mimeType];
});
await check("it reads the keys as a resource", 7, async () =>
  JSON.parse((await remediation.resource(KEYS)).text).keys.length,
);
await check("it finds the prompt", ["shared_context"], () => remediation.prompts());
await check("it gets the prompt", /context_list/, () => remediation.prompt("shared_context", {}));
await check("a key is completed", ["findings_summary"], () =>
  remediation.complete("session://{session}/entries/{key}", "key", "find"),
);
await check("a missing key is an error it can act on", [true, "KEY_NOT_FOUND"], async () => {
  const { isError, error } = await remediation.call("context_delete", {
    key: "open_questions",
  });
  return [isError, error.code];
});
if (version === MODERN) {
  const skill = ["skill://shared-context/SKILL.md", "shared-context", true];
  await check("the skill matches its digest", [skill], async () =>
    (await remediation.skills()).map(({ uri, file }) => [uri, file.frontmatter.name, file.verified]),
  );
}
await check("the remediation completes", undefined, () => remediation.leave());
await check("the orchestrator completes", undefined, () => orchestrator.leave());
