//! Builds the Spin application of `hosts/spin`: compiles its front, and its storage for
//! `SQLite` and for the key-value store, makes components of them, and joins these with
//! the component into the files that the manifests name.
//!
//! The component is the file that every other host runs, unchanged. What is joined is
//! checked against the worlds of the versions of Spin before it is written.
//!
//! Invariants: the files are rewritten only when their bytes change; no path of the
//! machine that built them is in them.

pub(crate) mod check;
mod compose;
pub(crate) mod env_file;
#[cfg(test)]
mod stubs;
mod targets;

use std::fs;

use anyhow::{Context, Result};

use self::targets::{Role, Targets};
use crate::{
    console,
    wasm_build::{self, Crate, gzipped_len, kilobytes},
    workspace::Workspace,
    wrap::Contract,
};

/// The folder of the manifests, from the root.
pub(crate) const FOLDER: &str = "hosts/spin";
/// The application over `SQLite`.
pub(crate) const MANIFEST: &str = "spin.toml";
/// The application over the key-value store.
pub(crate) const KEY_VALUE_MANIFEST: &str = "spin-key-value.toml";

const FRONT: Crate = Crate {
    about: "the front of the Spin app",
    package: "shared-context-spin-front",
    feature: None,
    profile: "component",
    // A fresh instance for each request, as the component has; but it reads JSON that nests.
    stack_bytes: 128 * 1024,
};
const STORAGE: Crate = Crate {
    about: "the storage of the Spin app",
    package: "shared-context-spin-storage",
    feature: None,
    profile: "component",
    stack_bytes: 64 * 1024,
};
const KEY_VALUE_STORAGE: Crate = Crate {
    about: "the storage of the Spin app without SQLite",
    feature: Some("key-value"),
    ..STORAGE
};

const FRONT_CONTRACT: Contract = Contract {
    folder: "hosts/spin/wit",
    imports: &[
        "shared-context:core/tool@",
        "shared-context:core/types@",
        "shared-context:spin/buckets@",
        "fermyon:spin/variables@2.0.0",
        "wasi:cli/stderr@",
        "wasi:clocks/",
        "wasi:http/types@",
        "wasi:io/",
        "wasi:random/random@",
    ],
};
const STORAGE_CONTRACT: Contract = Contract {
    folder: "hosts/spin/wit",
    imports: &[
        "spin:sqlite/sqlite@3.0.0",
        "wasi:cli/stderr@",
        "wasi:clocks/",
        "wasi:io/",
        "wasi:random/random@",
    ],
};
const KEY_VALUE_STORAGE_CONTRACT: Contract = Contract {
    folder: "hosts/spin/wit",
    imports: &[
        "fermyon:spin/key-value@2.0.0",
        "wasi:cli/stderr@",
        "wasi:clocks/",
        "wasi:io/",
        "wasi:random/random@",
    ],
};

/// Builds the application, of the component that was built before, into
/// `hosts/spin/build`.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let component = workspace.component();
    let component =
        fs::read(&component).with_context(|| format!("cannot read {}", component.display()))?;
    let module = FRONT.compile(workspace)?;
    let front = FRONT_CONTRACT.wrap(&FRONT, &module)?;
    let sqlite = STORAGE_CONTRACT.wrap(&STORAGE, &STORAGE.compile(workspace)?)?;
    let key_value = KEY_VALUE_STORAGE.compile(workspace)?;
    let key_value = KEY_VALUE_STORAGE_CONTRACT.wrap(&KEY_VALUE_STORAGE, &key_value)?;

    let files = [
        ("shared-context.wasm", compose::app(&front, &component, &sqlite)?, Role::Application),
        (
            "shared-context-key-value.wasm",
            compose::app(&front, &component, &key_value)?,
            Role::Application,
        ),
        (
            "shared-context-component.wasm",
            compose::dependency(&component, &sqlite)?,
            Role::Dependency,
        ),
    ];
    let targets = Targets::read(&workspace.root)?;
    let mut versions = String::new();
    for (name, bytes, role) in &files {
        module.refuse_paths(bytes, name)?;
        versions = targets.check(name, bytes, *role)?;
    }
    let mut sizes = Vec::new();
    let mut is_new = false;
    for (name, bytes, _) in &files {
        let (whole, gzipped) = (kilobytes(bytes.len())?, kilobytes(gzipped_len(bytes)?)?);
        sizes.push(format!("{name} {whole} ({gzipped} gzipped)"));
        let path = workspace.root.join(FOLDER).join("build").join(name);
        is_new |= wasm_build::write_if_changed(&path, bytes)?;
    }
    let state = if is_new { "written to hosts/spin/build" } else { "unchanged" };
    console::done(&format!("spin: {}, for Spin {versions}, {state}", sizes.join(", ")));
    env_file::ensure(&workspace.root)
}
