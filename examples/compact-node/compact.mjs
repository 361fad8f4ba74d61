// Compacts a transcript in this process, and prints the result:
//
//   node compact.mjs TRANSCRIPT [TARGET_TOKENS]
//
// The transcript has one JSON object per line, with `role` and `content`. SHARED_CONTEXT_PURE names
// the component; it is ../../target/component/shared-context-pure.wasm otherwise.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { transpile, writeFiles } from "@bytecodealliance/jco-transpile";

const { SHARED_CONTEXT_PURE: component = "../../target/component/shared-context-pure.wasm" } =
  process.env;
const KINDS = { user: "user_message", system: "system_prompt", tool: "tool_result" };

/** Returns the functions of the component. It imports nothing, so nothing has to be given to it. */
async function load() {
  // A program of your own does this once, when it is built.
  const folder = await mkdtemp(join(tmpdir(), "shared-context-"));
  try {
    const { files } = await transpile(component, { name: "context", instantiation: "sync" });
    await writeFiles(files, { baseDir: folder });
    const modules = new Map();
    for (const name of Object.keys(files).filter((it) => it.endsWith(".wasm"))) {
      modules.set(name, new WebAssembly.Module(files[name]));
    }
    const { href } = pathToFileURL(join(folder, "context.js"));
    const { instantiate } = await import(href);
    return instantiate((name) => modules.get(name), {}).pure;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns the lines of a transcript as items. */
function items(text) {
  const turns = text.split("\n").filter((it) => it.trim()).map((it) => JSON.parse(it));
  return turns.map(({ role, content }, place) => ({
    id: `turn-${place + 1}`,
    kind: KINDS[role] ?? "session_history",
    text: content,
  }));
}

const [transcript, target = "400"] = process.argv.slice(2);
const conversation = items(await readFile(transcript, "utf8"));
const pure = await load();
const started = performance.now();
// Throws an error whose `payload` has `code` and `message` if the request is rejected.
const request = { items: conversation, target_tokens: Number(target) };
const { items: kept, before, after } = JSON.parse(pure.compact(JSON.stringify(request)));
const took = performance.now() - started;
const texts = new Map(conversation.map(({ id, text }) => [id, text]));
for (const { id, text } of kept) {
  // What is kept whole comes without its text.
  console.log(JSON.stringify({ id, text: text ?? texts.get(id) }));
}
const tokens = `${before.tokens} to ${after.tokens} tokens`;
console.error(`${conversation.length} turns, ${tokens}, in ${took.toFixed(0)} ms`);
