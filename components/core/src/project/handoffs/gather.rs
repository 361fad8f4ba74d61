//! Reads the memories that packages and prompts are made from (spec 21.2, 21.5).

use std::cmp::Reverse;

use crate::{
    Error,
    handoffs::{Party, material::Material, prompt::Passage},
    kv::Bucket,
    memories::{
        Kind, Memory, Severity, Status,
        search::Matches,
        signature::{Brief, Head, digest},
    },
    order::sorted,
    project::open::OpenProject,
    text::{counted, words::Reader},
};

/// The least importance of a memory in a package.
const IMPORTANT: u8 = 7;
/// The least importance of a memory in a system prompt.
const CRITICAL: u8 = 8;
/// The most memories of each kind.
const MEMORIES_MAX: usize = 50;
/// The most memories of a package: decisions, issues, lessons, and a state.
pub(super) const NAMED_MAX: usize = MEMORIES_MAX * 3 + 1;

/// The order of memories: severe, important, then new; of issues, those that are open for long.
type Rank = (Reverse<Option<Severity>>, Reverse<u8>, u64, u64);

fn rank(it: &Brief) -> Rank {
    let is_issue = it.kind == Kind::Issue;
    let newest = |number: u64| if is_issue { number } else { u64::MAX.saturating_sub(number) };
    (Reverse(it.severity), Reverse(it.importance), newest(it.at.0), newest(it.number))
}

impl<B: Bucket> OpenProject<'_, B> {
    /// Returns what a package of a handoff `from` an agent may have.
    pub(super) fn gather(&self, from: &Party) -> Result<Material, Error> {
        let by = digest(from.participant.as_str());
        let (mut heads, mut states): (Vec<Brief>, Vec<Head>) = (Vec::new(), Vec::new());
        self.each_signature(|it| {
            let head = &it.head;
            // The agent's own memories count, even if they are unverified.
            if !self.is_told(head) || !(head.is_verified || head.by == by) {
                return;
            }
            match head.kind {
                Kind::State => states.push(head.clone()),
                Kind::Issue if head.status == Some(Status::Open) => heads.push(head.brief()),
                Kind::Decision | Kind::Learning if head.importance >= IMPORTANT => {
                    heads.push(head.brief());
                }
                _ => {}
            }
        })?;
        // A signature has only a digest of the writer.
        let is_own = |it: &Memory| it.is_verified || it.created_by == from.participant;
        let heads = sorted(heads, |a, b| rank(a).cmp(&rank(b)));
        let newest = states.iter().max_by_key(|it| (it.by == by, it.at, it.number));
        let of = |kind: Kind| -> Result<Vec<Memory>, Error> {
            let own = heads.iter().filter(|it| it.kind == kind).take(MEMORIES_MAX);
            let mut memories = Vec::new();
            for head in own {
                memories.extend(self.stored(head.number)?.filter(is_own));
            }
            Ok(memories)
        };
        Ok(Material {
            project: self.project_summary()?,
            decisions: of(Kind::Decision)?,
            issues: of(Kind::Issue)?,
            state: newest.map(|it| self.stored(it.number)).transpose()?.flatten(),
            lessons: of(Kind::Learning)?,
        })
    }

    /// Returns the critical memories: those that have most in common with the task first.
    pub(super) fn critical(&self, task: Option<&str>) -> Result<Vec<Passage>, Error> {
        let terms = counted::terms(&mut Reader::default(), task.unwrap_or_default());
        let mut matches = Matches::new(&terms, self.meta.totals.memories);
        self.each_signature(|it| {
            let head = &it.head;
            let is_open = head.status.is_none_or(|it| it == Status::Open);
            let is_meant = matches!(head.kind, Kind::Decision | Kind::Issue | Kind::Learning);
            let is_critical = head.is_verified && head.importance >= CRITICAL;
            if is_open && is_meant && is_critical && self.is_told(head) {
                matches.push(it);
            }
        })?;
        let all: Vec<(Brief, u32)> = matches
            .scored()
            .map(|(head, (title, content))| (head, u32::from(title.0) + u32::from(content.0)))
            .collect();
        let all = sorted(all, |(a, x), (b, y)| y.cmp(x).then_with(|| rank(a).cmp(&rank(b))));
        let mut passages = Vec::new();
        for (head, _) in all.into_iter().take(MEMORIES_MAX) {
            passages.extend(self.stored(head.number)?.as_ref().map(Passage::memory));
        }
        Ok(passages)
    }

    fn is_told(&self, it: &Head) -> bool {
        !it.is_expired(self.now) && !it.is_marked && it.archived_at.is_none()
    }
}
