//! The known failures of the conformance suite, and the comparison with its results.
//!
//! A baseline is a file in the format of the suite (`--expected-failures`). It only shrinks: every
//! failure must be listed, every listed check must fail, and each entry has its reason.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;

/// Maximum length of an error message of the suite, in characters.
const MESSAGE_MAX: usize = 300;

/// The scenarios that fail, and single checks as `scenario:check`, in the order of the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline(Vec<String>);

/// The results of one scenario.
#[derive(Debug)]
pub(crate) struct ScenarioResult {
    pub(crate) scenario: String,
    /// The checks, each with its error message if it failed.
    pub(crate) checks: BTreeMap<String, Option<String>>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    server: Vec<String>,
}

/// One check in a report of the suite.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: String,
    error_message: Option<String>,
}

impl Baseline {
    /// Reads the file at `path`.
    ///
    /// # Errors
    ///
    /// The file is invalid, or an entry has no reason.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|err| format!("{}: {err}", path.display()))?;
        Self::parse(&text).map_err(|err| format!("{}: {err}", path.display()))
    }

    /// Adds the baseline of one host: the file at `path`, if it exists.
    ///
    /// # Errors
    ///
    /// As [`Baseline::read`].
    pub(crate) fn and(mut self, path: &Path) -> Result<Self, String> {
        if path.exists() {
            self.0.extend(Self::read(path)?.0);
        }
        Ok(self)
    }

    /// Formats the baseline as a file for the suite.
    pub(crate) fn text(&self) -> String {
        self.0.iter().fold("server:\n".to_owned(), |text, it| text + "  - " + it + "\n")
    }

    fn parse(text: &str) -> Result<Self, String> {
        let is_explained =
            |line: &str| line.split_once(" # ").is_some_and(|(_, why)| !why.is_empty());
        let mut entries = text.lines().map(str::trim).filter(|line| line.starts_with("- "));
        let unexplained = entries.find(|line| !is_explained(line));
        if let Some(line) = unexplained {
            return Err(format!("`{line}` does not say why: add ` # reason` to the line"));
        }
        let file: File = serde_saphyr::from_str(text).map_err(|err| err.to_string())?;
        Ok(Self(file.server))
    }

    /// Compares the results with the baseline and returns a summary.
    ///
    /// # Errors
    ///
    /// An unlisted check fails, or a listed one passes.
    pub(crate) fn judge(&self, results: &[ScenarioResult]) -> Result<String, String> {
        let mut faults = Vec::new();
        for outcome in results {
            let scenario = &outcome.scenario;
            if self.has(scenario) {
                continue;
            }
            for (check, wrong) in outcome.failed() {
                if !self.has(&format!("{scenario}:{check}")) {
                    let wrong: String = wrong.chars().take(MESSAGE_MAX).collect();
                    faults.push(format!("{scenario}:{check} fails: {wrong}"));
                }
            }
        }
        for entry in &self.0 {
            let (scenario, check) = match entry.split_once(':') {
                Some((scenario, check)) => (scenario, Some(check)),
                None => (entry.as_str(), None),
            };
            let mut failed = results
                .iter()
                .filter(|it| it.scenario == scenario)
                .flat_map(ScenarioResult::failed);
            if !failed.any(|(id, _)| check.is_none_or(|check| check == id)) {
                faults.push(format!("{entry} does not fail: take it out of the baseline"));
            }
        }
        if !faults.is_empty() {
            return Err(faults.join("\n"));
        }
        let clean = results.iter().filter(|it| it.failed().next().is_none()).count();
        let checks: usize = results.iter().map(|it| it.checks.len() - it.failed().count()).sum();
        let (all, known) = (results.len(), self.0.len());
        Ok(format!("{clean} of {all} scenarios pass, {checks} checks; {known} known to fail"))
    }

    fn has(&self, entry: &str) -> bool {
        self.0.iter().any(|it| it == entry)
    }
}

impl ScenarioResult {
    /// Returns the checks with failures or warnings, with their messages.
    fn failed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.checks.iter().filter_map(|(check, wrong)| Some((check.as_str(), wrong.as_deref()?)))
    }

    /// Reads the folder `results` of the suite, which has a folder for each scenario.
    ///
    /// # Errors
    ///
    /// The suite ran no scenario.
    pub(crate) fn all(results: &Path) -> Result<Vec<Self>, String> {
        let folders =
            fs::read_dir(results).map_err(|err| format!("{}: {err}", results.display()))?;
        let folders = folders.map(|it| it.unwrap());
        let mut results: Vec<_> = folders.map(|it| Self::read(&it.path())).collect();
        if results.is_empty() {
            return Err("the suite ran no scenario".to_owned());
        }
        results.sort_by(|a, b| a.scenario.cmp(&b.scenario));
        Ok(results)
    }

    /// Reads the result folder of a scenario, such as `server-ping-2026-11-20T16-00-00-000Z`.
    fn read(folder: &Path) -> Self {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let time = "-0000-00-00T00-00-00-000Z".len();
        let scenario = name[..name.len() - time].strip_prefix("server-").unwrap().to_owned();
        let Ok(text) = fs::read_to_string(folder.join("checks.json")) else {
            let broken_off = Some("the suite did not finish the scenario".to_owned());
            return Self { checks: [(scenario.clone(), broken_off)].into(), scenario };
        };
        let found: Vec<Check> = serde_json::from_str(&text).unwrap();
        let mut checks = BTreeMap::new();
        for check in found {
            let wrong = match check.status.as_str() {
                "SUCCESS" => None,
                "FAILURE" | "WARNING" => Some(check.error_message.unwrap_or(check.status)),
                _ => continue,
            };
            // A check that is made several times fails if it fails once.
            let known = checks.entry(check.id).or_insert(None);
            *known = known.take().or(wrong);
        }
        Self { scenario, checks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(scenario: &str, failed: &[&str]) -> ScenarioResult {
        let checks = failed.iter().map(|it| ((*it).to_owned(), Some("wrong".to_owned())));
        let checks = checks.chain([("fine".to_owned(), None)]).collect();
        ScenarioResult { scenario: scenario.to_owned(), checks }
    }

    #[track_caller]
    fn check(listed: &[&str], expected: Result<&str, &str>) {
        let baseline = Baseline(listed.iter().map(ToString::to_string).collect());
        let found = [outcome("a", &[]), outcome("b", &["x", "y"])];
        let judged = baseline.judge(&found);
        assert_eq!(judged.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn every_failure_must_be_listed() {
        check(&["b"], Ok("1 of 2 scenarios pass, 2 checks; 1 known to fail"));
        check(&["b:x", "b:y"], Ok("1 of 2 scenarios pass, 2 checks; 2 known to fail"));
        check(&["b:x"], Err("b:y fails: wrong"));
    }

    #[test]
    fn every_listed_check_must_fail() {
        check(&["a", "b"], Err("a does not fail: take it out of the baseline"));
        check(&["b", "c"], Err("c does not fail: take it out of the baseline"));
        check(&["b:x", "b:y", "b:fine"], Err("b:fine does not fail: take it out of the baseline"));
    }

    #[test]
    fn the_baseline_of_a_host_is_added() {
        let all = Baseline::read(&crate::programs::here("baseline/2025-11-25.yaml")).unwrap();
        let count = all.0.len();
        let none = all.and(Path::new("nowhere.yaml")).unwrap();
        assert_eq!(none.0.len(), count);
        let spin = crate::programs::here("baseline/spin/2025-11-25.yaml");
        let both = none.and(&spin).unwrap();
        assert_eq!(both.0.len(), count + Baseline::read(&spin).unwrap().0.len());
        // The formatted baseline parses to the same entries.
        let file: File = serde_saphyr::from_str(&both.text()).unwrap();
        assert_eq!(file.server, both.0);
    }

    #[test]
    fn an_entry_needs_a_reason() {
        let read = Baseline::parse("# known\nserver:\n  - a:b # needs x\n");
        assert_eq!(read, Ok(Baseline(vec!["a:b".to_owned()])));
        let error = Baseline::parse("server:\n  - a\n").unwrap_err();
        assert_eq!(error, "`- a` does not say why: add ` # reason` to the line");
    }
}
