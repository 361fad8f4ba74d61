//! Tests the tool definitions of `/v1/tools` with the providers' packages, and calls that the
//! schemas allow.

use crate::{
    Test, Verdict,
    host::TestHost,
    programs::{Programs, run},
};

pub(crate) fn tests() -> Vec<Test> {
    vec![Test::new("definitions::all", |programs, _| check_definitions(programs))]
}

fn check_definitions(programs: &Programs) -> Verdict {
    let host = TestHost::start();
    let mut script = programs.python("definitions.py");
    script.envs(host.environment());
    let output = run(script)?.success()?;
    let checks = output.lines().filter(|it| it.starts_with("ok ")).count();
    Ok(format!("{checks} checks"))
}
