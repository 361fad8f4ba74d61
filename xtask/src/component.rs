//! Builds the component: compiles the crate to a wasm module and wraps it by the
//! contract in `wit/`, which is all that it may reach.
//!
//! Invariants: the file is rewritten only when its bytes change, so that what
//! includes it is not built again for nothing; no path of the machine that built
//! it is in it.

use anyhow::Result;

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

/// Builds the component into [`Workspace::component`].
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let module = COMPONENT.compile(workspace)?;
    let component = CONTRACT.wrap(&COMPONENT, &module)?;
    let is_new = wasm_build::write_if_changed(&workspace.component(), &component)?;
    console::done(&format!(
        "component: {}, {}",
        wasm_build::kilobytes(component.len())?,
        if is_new { "written to target/component/shared-context.wasm" } else { "unchanged" },
    ));
    Ok(())
}
