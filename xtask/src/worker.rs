//! Builds the Worker of `hosts/cloudflare`: compiles the crate to a wasm module,
//! makes JavaScript and wasm of it (`xtask/bindgen`), and bundles the JavaScript
//! with `entry.mjs` into one module.
//!
//! The two files in `hosts/cloudflare/build` are the Worker: the tests run them and
//! wrangler uploads them, unchanged. wasm-opt has no part in it: `-Os` takes half a
//! minute, saves 8 % of the wasm, adds 6 % to what is uploaded, which is compressed,
//! and makes no request faster; `-O1` saves 1 % of the upload.
//!
//! Invariants: the files are rewritten only when their bytes change; no path of the
//! machine that built them is in them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use anyhow::{Context, Result, ensure};

use crate::{
    console,
    npm::{self, Pins},
    process,
    wasm_build::{self, Crate, Module, gzipped_len, kilobytes},
    workspace::Workspace,
};

const WORKER: Crate = Crate {
    about: "the Worker",
    package: "shared-context-cloudflare",
    feature: None,
    profile: "component",
    // One instance serves all requests, and JavaScript calls it from within its calls.
    stack_bytes: 256 * 1024,
};
/// The packages that build, run and deploy it.
pub(crate) const NPM: Pins = Pins {
    folder: "hosts/cloudflare",
    name: "cloudflare-node",
    about: "esbuild, workerd and wrangler (once, 230 MB)",
};
const BINDGEN: &str = "shared-context-bindgen";
/// The files of the Worker, in its folder `build`.
pub(crate) const FILES: [&str; 2] = ["worker.mjs", WASM];
const WASM: &str = "shared_context.wasm";
/// Cloudflare's free plan accepts 3 MB compressed; ours stays far below.
const GZIPPED_BYTES_MAX: usize = 1_608_000;

/// Builds the Worker into `hosts/cloudflare/build`.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let module = WORKER.compile(workspace)?;
    let node_modules = NPM.ensure(workspace)?;
    let host = workspace.root.join(NPM.folder);
    let wasm = bind(workspace, &module, &host.join("build/glue"))?;
    let script = bundle(workspace, &node_modules, &host)?;

    let contents = [script, wasm];
    let mut sizes = Vec::new();
    let mut gzipped_bytes = 0;
    let mut is_new = false;
    for (name, bytes) in FILES.iter().zip(&contents) {
        module.refuse_paths(bytes, name)?;
        let gzipped = gzipped_len(bytes)?;
        gzipped_bytes += gzipped;
        sizes.push(format!("{name} {} ({} gzipped)", kilobytes(bytes.len())?, kilobytes(gzipped)?));
        is_new |= wasm_build::write_if_changed(&host.join("build").join(name), bytes)?;
    }
    let state = if is_new { "written to hosts/cloudflare/build" } else { "unchanged" };
    console::done(&format!("worker: {}, {state}", sizes.join(", ")));
    ensure!(
        gzipped_bytes <= GZIPPED_BYTES_MAX,
        "the Worker is {} gzipped and may be {}: find what grew (`cargo tree -p {} --target {}`)",
        kilobytes(gzipped_bytes)?,
        kilobytes(GZIPPED_BYTES_MAX)?,
        WORKER.package,
        crate::wasm_target::TARGET
    );
    Ok(())
}

/// Makes JavaScript of `module` in the folder `glue`, and returns the wasm that
/// belongs to it. What it made of the same module before is taken again.
fn bind(workspace: &Workspace, module: &Module, glue: &Path) -> Result<Vec<u8>> {
    let mut cargo = workspace.cargo();
    // By the name of the program and not of its package: so its libraries have the features
    // that they have in the tests, and are not compiled again there.
    process::run(cargo.args(["build", "--quiet", "--workspace", "--bin", BINDGEN]))?;
    let bindgen = workspace.target.join("debug").join(BINDGEN);
    let folder = workspace.target.join("worker");
    let wasm = folder.join(WASM);
    let stamp = folder.join("made-of");
    let built = fs::metadata(&bindgen)?.modified()?.duration_since(SystemTime::UNIX_EPOCH)?;
    let made_of = || {
        let script = fs::read(glue.join("shared_context.js")).unwrap_or_default();
        let (module, script) = (npm::digest(&module.bytes), npm::digest(&script));
        format!("{module} {} {script}\n", built.as_nanos())
    };
    if !wasm.exists() || fs::read_to_string(&stamp).ok() != Some(made_of()) {
        for old in [&folder, glue] {
            if old.exists() {
                fs::remove_dir_all(old)?;
            }
            fs::create_dir_all(old)?;
        }
        process::run(Command::new(bindgen).arg(&module.path).arg(glue))?;
        fs::rename(glue.join("shared_context_bg.wasm"), &wasm)?;
        // Last: an interrupted build is begun anew.
        fs::write(stamp, made_of())?;
    }
    fs::read(&wasm).with_context(|| format!("cannot read {}", wasm.display()))
}

/// Bundles `entry.mjs` of the folder `host` with what it imports. Not minified: a
/// stack trace of it can be read, and its size does not count beside the wasm's.
fn bundle(workspace: &Workspace, node_modules: &Path, host: &Path) -> Result<Vec<u8>> {
    let bundled = workspace.target.join("worker").join("worker.mjs");
    let mut esbuild = Command::new(esbuild(node_modules)?);
    esbuild.current_dir(host).args([
        "entry.mjs",
        "--bundle",
        "--format=esm",
        "--target=es2024",
        "--charset=utf8",
        "--legal-comments=none",
        "--log-level=warning",
        "--external:cloudflare:*",
        "--banner:js=// Generated by `cargo xtask build` from hosts/cloudflare.",
    ]);
    esbuild.arg(format!("--external:./{WASM}"));
    let mut outfile = std::ffi::OsString::from("--outfile=");
    outfile.push(&bundled);
    process::run(esbuild.arg(outfile))?;
    Ok(fs::read(bundled)?)
}

/// Returns the program esbuild.
pub(crate) fn esbuild(node_modules: &Path) -> Result<PathBuf> {
    npm::of_this_machine(node_modules, "@esbuild/", "bin/esbuild")
}
