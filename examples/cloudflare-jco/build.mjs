// Makes a Worker of the component:
//
//   node build.mjs [shared-context.wasm]
//
// `gen/` is what jco makes of it: its WebAssembly, unchanged, and the JavaScript that
// speaks the component's types. `build/` is all that is deployed.

import { readdir, readFile, rm } from "node:fs/promises";
import { gzipSync } from "node:zlib";

import { transpile, writeFiles } from "@bytecodealliance/jco-transpile";
import { build } from "esbuild";

const [component = "../../target/component/shared-context.wasm"] = process.argv.slice(2);
for (const folder of ["gen", "build"]) await rm(folder, { recursive: true, force: true });

const { files } = await transpile(component, {
  name: "shared-context",
  // An instance is made when it is wanted, with imports of its own, and without waiting.
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
  // jco looks at every step whether it is to tell of it. Here it is not.
  define: { "globalThis.process.env.JCO_DEBUG": "undefined" },
});

// As Cloudflare counts: of who pays nothing it takes 3 MB, compressed.
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
