//! Builds the component, and the component without imports: compiles the crate to a wasm
//! module and wraps it by its contract in `wit/`, which is all that it may reach.
//!
//! Invariants: the file is rewritten only when its bytes change, so that what
//! includes it is not built again for nothing; no path of the machine that built
//! it is in it.

use anyhow::{Result, ensure};

use crate::{
    console,
    wasm_build::{self, Crate},
    workspace::Workspace,
    wrap::Contract,
};

const COMPONENT: Crate = Crate {
    about: "the component",
    package: "shared-context-component",
    feature: None,
    profile: "component",
    // A fresh instance costs what its first pages cost.
    stack_bytes: 64 * 1024,
};
const CONTRACT: Contract = Contract { folder: "wit/", imports: &["shared-context:core/"] };

const PURE: Crate = Crate {
    about: "the component without imports",
    package: "shared-context-context",
    feature: None,
    profile: "component",
    stack_bytes: 64 * 1024,
};
const PURE_CONTRACT: Contract = Contract { folder: "wit/context/", imports: &[] };
/// The most bytes the component without imports may have: what it has, and a little for the next
/// change. The aim of 350 KB is not met: the rules of assembly, extraction and compaction with
/// their forms take more, and size `z` saves only 32 KB.
const PURE_BYTES_MAX: usize = 590 * 1024 + SPARE_BYTES;

/// The most bytes the component may have: what it has, and a little for the next change.
/// A new system may raise this by [`SYSTEM_BYTES_MAX`].
const BYTES_MAX: usize = 2_890_000 + SPARE_BYTES;
/// What changes may add together before somebody has to look.
const SPARE_BYTES: usize = 16 * 1024;
/// What a system may add without a record in docs/decisions that says why it is more.
const SYSTEM_BYTES_MAX: usize = 60 * 1024;

/// Builds the component into [`Workspace::component`].
///
/// # Errors
///
/// It does not build, or is larger than it may be.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let module = COMPONENT.compile(workspace)?;
    let component = CONTRACT.wrap(&COMPONENT, &module)?;
    check_size(component.len())?;
    let is_new = wasm_build::write_if_changed(&workspace.component(), &component)?;
    console::done(&format!(
        "component: {}, {}",
        wasm_build::kilobytes(component.len())?,
        if is_new { "written to target/component/shared-context.wasm" } else { "unchanged" },
    ));
    Ok(())
}

/// Builds the component without imports into [`Workspace::pure_component`].
///
/// # Errors
///
/// It does not build, imports something, or is larger than it may be.
pub(crate) fn build_pure(workspace: &Workspace) -> Result<()> {
    let module = PURE.compile(workspace)?;
    let component = PURE_CONTRACT.wrap(&PURE, &module)?;
    let size = wasm_build::kilobytes(component.len())?;
    ensure!(
        component.len() <= PURE_BYTES_MAX,
        "the component without imports has {size}, more than the {} it may have: find out what \
         is new in it (docs/decisions/0020 tells how)",
        wasm_build::kilobytes(PURE_BYTES_MAX)?,
    );
    let is_new = wasm_build::write_if_changed(&workspace.pure_component(), &component)?;
    let written = "written to target/component/shared-context-pure.wasm";
    console::done(&format!(
        "component without imports: {size}, {}",
        if is_new { written } else { "unchanged" },
    ));
    Ok(())
}

/// Makes sure that a component of `bytes` is no larger than it may be.
fn check_size(bytes: usize) -> Result<()> {
    ensure!(
        bytes <= BYTES_MAX,
        "the component has {bytes} bytes, {} more than it may have.\n\
         Find out what is new in it (docs/decisions/0020 tells how). For a new system raise \
         BYTES_MAX in xtask/src/component.rs by what it adds, at most {SYSTEM_BYTES_MAX}; for \
         more write a record in docs/decisions that says why.",
        bytes.saturating_sub(BYTES_MAX),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_that_grew_is_refused() {
        assert!(check_size(BYTES_MAX).is_ok());
        let told = check_size(BYTES_MAX + 1).unwrap_err().to_string();
        assert!(told.contains(", 1 more than it may have"), "{told}");
    }
}
