//! Tests the tool definitions of `/v1/tools` with the providers' packages, calls that the schemas
//! allow, and the hints with a client that asks a person before what changes something.

use crate::{
    Test, Verdict,
    host::TestHost,
    programs::{Programs, run},
};

pub(crate) fn tests() -> Vec<Test> {
    let test = |(name, script): (&str, &'static str)| {
        Test::new(format!("definitions::{name}"), move |programs, _| check(programs, script))
    };
    [("all", "definitions.py"), ("hints", "approvals.py")].into_iter().map(test).collect()
}

fn check(programs: &Programs, script: &str) -> Verdict {
    let host = TestHost::start();
    let mut script = programs.python(script);
    script.envs(host.environment());
    let output = run(script)?.success()?;
    let checks = output.lines().filter(|it| it.starts_with("ok ")).count();
    Ok(format!("{checks} checks"))
}
