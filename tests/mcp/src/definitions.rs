//! The tool definitions of `/v1/tools`, by the checks of the providers' packages,
//! and results of calls, by the schemas the tools promise.

use crate::{
    Test, Verdict,
    place::Place,
    strangers::{Strangers, run},
};

pub(crate) fn tests() -> Vec<Test> {
    vec![Test::new("definitions::all", |strangers, _| define(strangers))]
}

fn define(strangers: &Strangers) -> Verdict {
    let place = Place::start();
    let mut script = strangers.python("definitions.py");
    script.envs(place.environment());
    let said = run(script)?.well()?;
    let checks = said.lines().filter(|it| it.starts_with("ok ")).count();
    Ok(format!("{checks} checks"))
}
