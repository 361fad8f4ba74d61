//! The request for a packet, and the limits of packets (spec 18.2, 18.3).

use super::{
    address::Address,
    kinds::{Budgets, Depth, Form, MadeBy, Part},
    packet::Link,
};
use crate::{
    Error,
    compact::TURNS_MAX,
    item::{self, Item},
    key::Key,
    order::sorted,
    tokens::Tokens,
};

/// The most addresses with a packet.
pub const ADDRESSES_MAX: u32 = 64;
/// The most versions of a packet that are kept.
pub const VERSIONS_KEPT: u32 = 10;
/// The most bytes of all packets, recipes and feedback of a session: 2 MiB.
pub const PACKETS_BYTES_MAX: u64 = 2 << 20;
/// The range of a packet's budget.
pub const BUDGET: std::ops::RangeInclusive<u32> = 50..=8_000;
/// The longest task, in bytes.
pub const PACKET_TASK_BYTES_MAX: usize = 8_192;
/// The longest type of task, in bytes.
pub const TASK_TYPE_BYTES_MAX: usize = 64;
/// The longest statement that is given, in bytes.
pub const STATEMENT_BYTES_MAX: usize = 4_096;
/// The most statements that are given.
pub const STATEMENTS_MAX: usize = 500;
/// The most files.
pub const FILES_MAX: usize = 1_000;
/// The longest path of a file, in characters.
const PATH_CHARS_MAX: usize = 200;
/// The most links.
pub const LINKS_MAX: usize = 16;

/// The settings of a session for packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketConfig {
    /// The depth when none is given.
    pub default_depth: Depth,
    /// The budget of each depth.
    pub budgets: Budgets,
    /// True if a packet is made when a credential is issued for a task.
    pub auto_generate: bool,
    /// True if feedback is counted.
    pub track_efficiency: bool,
    /// True if the packet of one participant is removed after its feedback.
    pub auto_cleanup: bool,
}

impl Default for PacketConfig {
    fn default() -> Self {
        Self {
            default_depth: Depth::Standard,
            budgets: Budgets::default(),
            auto_generate: true,
            track_efficiency: true,
            auto_cleanup: true,
        }
    }
}

/// A request for a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratePacket {
    /// The task.
    pub task: String,
    /// The type of the task, for statistics.
    pub task_type: Option<String>,
    /// The receivers of the packet.
    pub address: Address,
    /// The depth; `None` for that of the session.
    pub depth: Option<Depth>,
    /// The budget; `None` for that of the depth.
    pub budget: Option<Tokens>,
    /// The form that the budget counts.
    pub form: Form,
    /// The conversation.
    pub conversation: Vec<Item>,
    /// The files.
    pub files: Vec<File>,
    /// The statements of the caller.
    pub facts: Vec<Given>,
    /// Packets of other sessions that it refers to.
    pub links: Vec<Link>,
    /// The keys that the packet may use although its receiver may not read them.
    pub keys: Vec<Key>,
    /// True if nothing is stored.
    pub is_preview: bool,
}

/// A file that a packet may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path.
    pub path: String,
    /// Its text, or a summary.
    pub text: String,
}

/// A statement of the caller, which takes precedence over everything found elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The part of the packet that it belongs to.
    pub part: Part,
    /// Its text: a constraint, what was chosen, what was tried.
    pub text: String,
    /// The reason of a decision or of a pivot, why an attempt failed.
    pub detail: Option<String>,
    /// The author of a decision; `None` for the caller.
    pub made_by: Option<MadeBy>,
}

impl Given {
    /// Creates a statement without a detail.
    pub fn new(part: Part, text: impl Into<String>) -> Self {
        Self { part, text: text.into(), detail: None, made_by: None }
    }
}

impl GeneratePacket {
    /// Validates the request.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for the first of: an invalid task, task type or budget, an invalid
    /// conversation, invalid files, an invalid fact, too many links.
    pub fn check(&self) -> Result<(), Error> {
        check_task(&self.task)?;
        if let Some(it) = &self.task_type {
            check_task_type(it)?;
        }
        if let Some(it) = self.budget {
            check_budget("budget", it)?;
        }
        item::check_up_to(&self.conversation, TURNS_MAX)?;
        item::check_bytes(&self.conversation, "send the latest part of the conversation")?;
        self.check_files()?;
        self.check_facts()?;
        if self.links.len() > LINKS_MAX {
            return Err(Error::malformed(format!(
                "links has {} elements, at most {LINKS_MAX} fit; link the packets that matter",
                self.links.len()
            )));
        }
        Ok(())
    }

    fn check_files(&self) -> Result<(), Error> {
        if self.files.len() > FILES_MAX {
            return Err(Error::malformed(format!(
                "files has {} elements, at most {FILES_MAX} fit; send those of the task",
                self.files.len()
            )));
        }
        let mut bytes: usize = 0;
        for file in &self.files {
            let fits = (1..=PATH_CHARS_MAX).contains(&file.path.chars().count());
            let shown: String = file.path.chars().take(80).collect();
            if !fits || file.path.contains(char::is_control) || file.path.trim() != file.path {
                return Err(Error::malformed(format!(
                    "file {shown:?}: a path is one line of 1 to {PATH_CHARS_MAX} characters"
                )));
            }
            bytes = bytes.saturating_add(file.text.len());
        }
        let paths = sorted(self.files.iter().collect(), |a, b| a.path.cmp(&b.path));
        if let Some([one, ..]) = paths
            .windows(2)
            .find(|it| it.first().map(|it| &it.path) == it.last().map(|it| &it.path))
        {
            let shown: String = one.path.chars().take(80).collect();
            return Err(Error::malformed(format!(
                "file {shown:?} is in the request twice; send each file once"
            )));
        }
        if bytes > item::ITEMS_BYTES_MAX {
            return Err(Error::malformed(format!(
                "the files have {bytes} bytes, at most {} fit; send summaries of large files",
                item::ITEMS_BYTES_MAX
            )));
        }
        Ok(())
    }

    fn check_facts(&self) -> Result<(), Error> {
        if self.facts.len() > STATEMENTS_MAX {
            return Err(Error::malformed(format!(
                "facts has {} statements, at most {STATEMENTS_MAX} fit; leave out what does not \
                 matter for the task",
                self.facts.len()
            )));
        }
        for it in &self.facts {
            let member = it.part.as_str();
            for text in [&it.text].into_iter().chain(&it.detail) {
                if text.trim().is_empty() {
                    return Err(Error::malformed(format!(
                        "facts.{member} has an empty text; leave it out, or say something"
                    )));
                }
                if text.len() > STATEMENT_BYTES_MAX {
                    return Err(Error::malformed(format!(
                        "facts.{member} has a text of {} bytes, at most {STATEMENT_BYTES_MAX} fit; \
                         shorten it",
                        text.len()
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Validates a task.
///
/// # Errors
///
/// [`Error::Malformed`] if it is empty or too long.
pub fn check_task(task: &str) -> Result<(), Error> {
    if task.trim().is_empty() {
        return Err(Error::malformed(
            "task is empty; say what the worker is to do, for example \"Add JWT auth\"",
        ));
    }
    if task.len() > PACKET_TASK_BYTES_MAX {
        return Err(Error::malformed(format!(
            "task has {} bytes, at most {PACKET_TASK_BYTES_MAX} fit; say what to do in a few \
             sentences, and send the rest as facts or conversation",
            task.len()
        )));
    }
    Ok(())
}

/// Validates the type of a task.
///
/// # Errors
///
/// [`Error::Malformed`] if it is not 1 to 64 of `a-z`, `0-9`, `_`, `.` and `-`.
pub fn check_task_type(text: &str) -> Result<(), Error> {
    let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_.-".contains(&b);
    if (1..=TASK_TYPE_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_allowed) {
        return Ok(());
    }
    let shown: String = text.chars().take(80).collect();
    Err(Error::malformed(format!(
        "task_type {shown:?} must be 1 to {TASK_TYPE_BYTES_MAX} of a-z, 0-9, _, . and -, for \
         example implementation"
    )))
}

/// Validates a budget.
///
/// # Errors
///
/// [`Error::Malformed`], naming `member`, if it is not within [`BUDGET`].
pub fn check_budget(member: &str, budget: Tokens) -> Result<(), Error> {
    if BUDGET.contains(&budget.0) {
        return Ok(());
    }
    Err(Error::malformed(format!(
        "{member} is {}; it must be {} to {} tokens",
        budget.0,
        BUDGET.start(),
        BUDGET.end()
    )))
}
