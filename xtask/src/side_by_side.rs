//! Runs stages two at a time: some compile on all processors, others wait for clocks and
//! for the programs they start.
//!
//! Each stage is a separate process, and its output goes to a file. The file is printed when the
//! stage ends, so that the output of two stages does not mix.
//!
//! Not here: the work of a stage, and its requirements ([`crate::stages`]).

use std::{
    env,
    fs::{self, File},
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use crate::{
    console::{self, Outcome},
    stages::{Ended, Stage},
    workspace::Workspace,
};

/// The number of stages that run at a time.
const AT_A_TIME: usize = 2;

/// The stages of a run.
#[derive(Debug)]
struct Plan {
    /// Those that have not started, in the order in which they start.
    waiting: Vec<Stage>,
    running: Vec<Stage>,
    ended: Vec<Ended>,
}

/// The next step of a run.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Run(Stage),
    /// Every stage that has not started needs one that runs.
    Wait,
    /// All have started.
    Nothing,
}

impl Plan {
    fn new(stages: &[Stage]) -> Self {
        Self { waiting: stages.to_vec(), running: Vec::new(), ended: Vec::new() }
    }

    /// Takes the first stage that can start. Those that need a stage that failed end here.
    fn next(&mut self) -> Next {
        let is_lost = |ended: &[Ended], stage: &Stage| {
            ended
                .iter()
                .any(|it| it.outcome != Outcome::Passed && stage.needs().contains(&it.stage))
        };
        while let Some(at) = self.waiting.iter().position(|it| is_lost(&self.ended, it)) {
            let stage = self.waiting.remove(at);
            self.ended.push(Ended { stage, outcome: Outcome::NotRun, took: Duration::ZERO });
        }
        if self.waiting.is_empty() {
            return Next::Nothing;
        }
        let is_ahead = |it: &Stage| self.waiting.contains(it) || self.running.contains(it);
        let can_start = |stage: &Stage| !stage.needs().iter().chain(stage.follows()).any(is_ahead);
        let Some(at) = self.waiting.iter().position(can_start) else { return Next::Wait };
        let stage = self.waiting.remove(at);
        self.running.push(stage);
        Next::Run(stage)
    }

    fn end(&mut self, ended: Ended) {
        self.running.retain(|it| *it != ended.stage);
        self.ended.push(ended);
    }
}

/// Runs `stages` and returns how they ended. Each is this program again, with `arguments`.
pub(crate) fn run(
    workspace: &Workspace,
    stages: &[Stage],
    arguments: impl Fn(Stage) -> Vec<String> + Sync,
) -> Result<Vec<Ended>> {
    let program = env::current_exe().context("the path of this program is unknown")?;
    let folder = workspace.target.join("test");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let plan = Mutex::new(Plan::new(stages));
    let changed = Condvar::new();
    let run_stages = || {
        while let Some(stage) = next(&plan, &changed) {
            let log = folder.join(format!("{}.log", stage.name()));
            let started = Instant::now();
            let mut command = Command::new(&program);
            let result = run_logged(command.args(arguments(stage)), &log);
            let ended = Ended::new(stage, &result, started.elapsed());
            let mut plan = lock(&plan);
            stage.headline();
            console::text(&fs::read_to_string(&log).unwrap_or_default());
            ended.print(result);
            plan.end(ended);
            drop(plan);
            changed.notify_all();
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(run_stages);
        }
    });
    let mut ended = plan.into_inner().unwrap_or_else(PoisonError::into_inner).ended;
    ended.sort_by_key(|it| stages.iter().position(|stage| *stage == it.stage));
    Ok(ended)
}

/// Waits until a stage can start, takes it and prints that it starts. Returns none once all
/// have started.
fn next(plan: &Mutex<Plan>, changed: &Condvar) -> Option<Stage> {
    let mut plan = lock(plan);
    loop {
        match plan.next() {
            Next::Run(stage) => {
                // With the plan, no other thread prints.
                console::step(&format!("{}: started", stage.name()));
                return Some(stage);
            }
            Next::Nothing => return None,
            Next::Wait => plan = changed.wait(plan).unwrap_or_else(PoisonError::into_inner),
        }
    }
}

fn lock(plan: &Mutex<Plan>) -> MutexGuard<'_, Plan> {
    plan.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `command`, and writes what it prints to the file `log`.
fn run_logged(command: &mut Command, log: &PathBuf) -> Result<()> {
    let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let status = command.status().context("this program does not start again")?;
    ensure!(status.success(), "failed; its output stands above and in {}", log.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(stage: Stage, outcome: Outcome) -> Ended {
        Ended { stage, outcome, took: Duration::ZERO }
    }

    #[test]
    fn a_stage_starts_once_what_it_needs_has_passed() {
        let mut plan = Plan::new(&[Stage::Setup, Stage::Build, Stage::Fmt]);
        assert_eq!(plan.next(), Next::Run(Stage::Setup));
        assert_eq!(plan.next(), Next::Run(Stage::Fmt));
        assert_eq!(plan.next(), Next::Wait);
        plan.end(ended(Stage::Setup, Outcome::Passed));
        assert_eq!(plan.next(), Next::Run(Stage::Build));
        assert_eq!(plan.next(), Next::Nothing);
    }

    #[test]
    fn what_needs_a_failed_stage_does_not_run() {
        let mut plan = Plan::new(&[Stage::Build, Stage::Compile, Stage::Test, Stage::Fmt]);
        assert_eq!(plan.next(), Next::Run(Stage::Build));
        plan.end(ended(Stage::Build, Outcome::Failed));
        assert_eq!(plan.next(), Next::Run(Stage::Fmt));
        assert_eq!(plan.next(), Next::Nothing);
        let not_run = plan.ended.iter().filter(|it| it.outcome == Outcome::NotRun);
        let not_run: Vec<_> = not_run.map(|it| it.stage).collect();
        assert_eq!(not_run, [Stage::Compile, Stage::Test]);
    }
}
