// Builds a Worker from the component:
//
//   node build.mjs [shared-context.wasm]
//
// jco writes `gen/`: the component's WebAssembly, unchanged, and the JavaScript that
// converts its types. `build/` contains all files to deploy.

import { readdir, readFile, rm } from "node:fs/promises";
import { gzipSync } from "node:zlib";

import { transpile, writeFiles } from "@bytecodealliance/jco-transpile";
import { build } from "esbuild";

const [component = "../../target/component/shared-context.wasm"] = process.argv.slice(2);
for (const folder of ["gen", "build"]) await rm(folder, { recursive: true, force: true });

const { files } = await transpile(component, {
  name: "shared-context",
  // Instances are created on demand, each with its own imports, and without waiting.
  instantiation: "sync",
});
await writeFiles(files, { baseDir: "gen" });

await build({
  entryPoints: ["worker.mjs"],
  outdir: "build",
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  target: "es2022",
  external: ["cloudflare:workers"],
  loader: { ".wasm": "copy" },
  assetNames: "[name]",
  // jco checks at every step whether to write debug output. This turns it off.
  define: { "globalThis.process.env.JCO_DEBUG": "undefined" },
});

// Sizes as Cloudflare counts them: its free plan allows 3 MB, compressed.
const sizes = await Promise.all(
  (await readdir("build")).map(async (name) => {
    const bytes = await readFile(`build/${name}`);
    return { name, raw: bytes.length, gzipped: gzipSync(bytes).length };
  }),
);
const kilobytes = (bytes) => `${(bytes / 1024).toFixed(1)} KB`;
for (const { name, raw, gzipped } of sizes) {
  console.log(`build/${name}: ${kilobytes(raw)}, ${kilobytes(gzipped)} gzipped`);
}
