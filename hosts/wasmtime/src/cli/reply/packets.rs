//! Packets, feedback on them, and their statistics.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    super::output::{DIMMED, GREEN, Output, YELLOW, counted, grouped, instant, plain, table},
    Human,
};

/// The most gaps of a type of task that are listed.
const GAPS_MAX: usize = 5;

/// Reply of `context_generate` and `context_edit`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct PacketWritten {
    #[serde(flatten)]
    packet: Packet,
    max_tokens: u64,
    included: u64,
    omitted: Vec<Omitted>,
    before_tokens: u64,
    saved_percent: f64,
    withheld_keys: Vec<String>,
    advice: Vec<Advice>,
}

/// Reply of `context_read`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct PacketRead {
    #[serde(flatten)]
    packet: Packet,
    newest_version: u64,
    stale: Vec<Map<String, Value>>,
    others: Vec<String>,
}

/// What both have.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Packet {
    id: Option<String>,
    address: String,
    version: u64,
    depth: String,
    tokens: u64,
    text: Option<String>,
    #[serde(rename = "packet")]
    whole: Option<Value>,
}

/// Statements that are not in a packet.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Omitted {
    reason: String,
    count: u64,
}

/// What earlier feedback says.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Advice {
    code: String,
    message: String,
}

/// Reply of `context_query`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct PacketAnswer {
    findings: Vec<Finding>,
    left_out: u64,
}

/// A statement that was found.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Finding {
    part: String,
    text: String,
    score: f64,
}

/// Reply of `context_feedback`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct PacketFeedback {
    address: String,
    version: u64,
    outcome: Option<String>,
    gaps: Vec<String>,
    unused: Vec<String>,
}

/// Reply of `context_stats`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct PacketStatistics {
    types: Vec<TypeStatistics>,
}

/// Statistics of one type of task.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct TypeStatistics {
    task_type: Option<String>,
    count: u64,
    mean_tokens: u64,
    median_tokens: u64,
    success_rate: Option<f64>,
    gaps: Vec<Gap>,
    unused: Vec<Gap>,
    minimum: Option<Minimum>,
}

/// Something that was lacking or not used.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Gap {
    text: String,
    share: f64,
    failure_rate: Option<f64>,
}

/// The least context that suffices.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Minimum {
    depth: String,
    median_tokens: u64,
}

/// Reply of `context_clear`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct PacketCleared {
    cleared_packet: String,
    versions: u64,
}

/// Reply of `list_packets`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct PacketList {
    packets: Vec<PacketInfo>,
}

/// A packet without its content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct PacketInfo {
    address: String,
    version: u64,
    task: String,
    depth: String,
    tokens: u64,
    created_at: String,
    readers: Vec<Reader>,
}

/// A reader of a packet.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Reader {
    participant: String,
    read_version: u64,
}

impl Packet {
    /// Returns the page: the text, or the packet itself as JSON.
    fn page(&self) -> String {
        match (&self.text, &self.whole) {
            (Some(text), _) => text.clone(),
            (None, Some(packet)) => format!("{packet}\n"),
            (None, None) => String::new(),
        }
    }

    fn name(&self) -> String {
        let id = self.id.as_deref().unwrap_or("a preview");
        format!("{} for {}, version {}", plain(id), plain(&self.address), self.version)
    }
}

impl PacketWritten {
    /// Returns the page as it was asked for.
    pub(crate) fn page(&self) -> String {
        self.packet.page()
    }

    /// Formats what is in the packet, and what is not.
    pub(crate) fn summary(&self, output: Output) -> String {
        let Self { packet, max_tokens, included, before_tokens, saved_percent, .. } = self;
        let mut text = format!(
            "{}: {} of {} tokens, {} ({})",
            packet.name(),
            grouped(packet.tokens),
            grouped(*max_tokens),
            counted(*included, "statement"),
            plain(&packet.depth)
        );
        if *before_tokens > packet.tokens {
            let _ = write!(
                text,
                "\nmade from {} tokens, {saved_percent:.1} % saved",
                grouped(*before_tokens)
            );
        }
        let omitted: Vec<String> = self
            .omitted
            .iter()
            .map(|it| format!("{} {}", it.count, plain(&it.reason.replace('_', " "))))
            .collect();
        if !omitted.is_empty() {
            let _ = write!(text, "\nleft out: {}", omitted.join(", "));
        }
        if !self.withheld_keys.is_empty() {
            let keys = self.withheld_keys.join(", ");
            let keys = format!("left out, since its receiver may not read them: {}", plain(&keys));
            let _ = write!(text, "\n{}", output.wrapped("", "  ", &keys));
        }
        for it in &self.advice {
            let advice = format!("{}: {}", plain(&it.code), plain(&it.message));
            let _ = write!(text, "\n{YELLOW}·{YELLOW:#} {}", output.wrapped("", "  ", &advice));
        }
        text.push('\n');
        text
    }
}

impl Human for PacketWritten {
    fn human(&self, output: Output) -> String {
        format!("{}\n{}", plain(&self.page()).trim_end(), self.summary(output))
    }
}

impl PacketRead {
    /// Returns the page as it was asked for.
    pub(crate) fn page(&self) -> String {
        self.packet.page()
    }

    /// Formats what a reader should know besides.
    pub(crate) fn summary(&self) -> String {
        let mut text = format!("{}, {} tokens", self.packet.name(), grouped(self.packet.tokens));
        if self.newest_version > self.packet.version {
            let _ = write!(text, "; the newest is version {}", self.newest_version);
        }
        for it in &self.stale {
            let member = |name| it.get(name).and_then(Value::as_str);
            let what = member("key").or(member("path")).or(member("missing"));
            let what = what.or(member("kind")).unwrap_or("source");
            let staleness = member("staleness").unwrap_or("changed");
            let _ = write!(text, "\n{YELLOW}·{YELLOW:#} {}: {}", plain(what), plain(staleness));
        }
        if !self.others.is_empty() {
            let _ = write!(text, "\nalso for the reader: {}", plain(&self.others.join(", ")));
        }
        text.push('\n');
        text
    }
}

impl Human for PacketRead {
    fn human(&self, _: Output) -> String {
        format!("{}\n\n{}", plain(&self.page()).trim_end(), self.summary())
    }
}

impl Human for PacketAnswer {
    fn human(&self, output: Output) -> String {
        if self.findings.is_empty() {
            return format!("{DIMMED}nothing found{DIMMED:#}\n");
        }
        let row = |it: &Finding| vec![format!("{:.2}", it.score), it.part.clone(), it.text.clone()];
        let rows: Vec<_> = self.findings.iter().map(row).collect();
        let mut text = table(output, &["#SCORE", "PART", "~TEXT"], &rows);
        if self.left_out > 0 {
            let _ = writeln!(text, "… and {} more", grouped(self.left_out));
        }
        text
    }
}

impl Human for PacketFeedback {
    fn human(&self, _: Output) -> String {
        let Self { address, version, outcome, gaps, unused } = self;
        let outcome = outcome.as_deref().map(|it| format!(", {}", plain(it))).unwrap_or_default();
        let count = |it: &[String]| u64::try_from(it.len()).unwrap_or(u64::MAX);
        format!(
            "{GREEN}✓{GREEN:#} feedback on the packet for {}, version {version}{outcome}: {}, {} \
             unused\n",
            plain(address),
            counted(count(gaps), "gap"),
            count(unused)
        )
    }
}

impl Human for PacketStatistics {
    fn human(&self, output: Output) -> String {
        if self.types.iter().all(|it| it.count == 0) {
            return format!(
                "{DIMMED}nothing here; workers report with the action context_feedback{DIMMED:#}\n"
            );
        }
        let mut text = String::new();
        for it in &self.types {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&it.human(output));
        }
        text
    }
}

impl TypeStatistics {
    fn human(&self, output: Output) -> String {
        let name = self.task_type.as_deref().unwrap_or("all tasks");
        let mut text = format!("{}: {}\n", plain(name), counted(self.count, "packet"));
        let _ = writeln!(
            text,
            "Average context size: {} tokens (median {})",
            grouped(self.mean_tokens),
            grouped(self.median_tokens)
        );
        if let Some(rate) = self.success_rate {
            let _ = writeln!(text, "Worker success rate: {}", percent(rate));
        }
        let listed = |gaps: &[Gap]| {
            let listed = gaps.iter().take(GAPS_MAX).map(|it| {
                let failed = it.failure_rate.filter(|it| *it > 0.0);
                let failed = failed.map(|it| format!(", {} of them failed", percent(it)));
                format!("{} ({}{})", plain(&it.text), percent(it.share), failed.unwrap_or_default())
            });
            listed.collect::<Vec<_>>().join(", ")
        };
        for (title, gaps) in [("Top context gaps", &self.gaps), ("Usually unused", &self.unused)] {
            if !gaps.is_empty() {
                let line = format!("{title}: {}", listed(gaps));
                let _ = writeln!(text, "{}", output.wrapped("", "  ", &line));
            }
        }
        let _ = match &self.minimum {
            Some(Minimum { depth, median_tokens }) => writeln!(
                text,
                "Minimum viable context: {}, {} tokens",
                plain(depth),
                grouped(*median_tokens)
            ),
            None => writeln!(text, "Minimum viable context: too few tasks to tell"),
        };
        text
    }
}

impl Human for PacketCleared {
    fn human(&self, _: Output) -> String {
        let versions = counted(self.versions, "version");
        let address = plain(&self.cleared_packet);
        format!("{GREEN}✓{GREEN:#} removed the packet for {address}, {versions}\n")
    }
}

impl Human for PacketList {
    fn human(&self, output: Output) -> String {
        if self.packets.is_empty() {
            return format!(
                "{DIMMED}no packets; `shared-context context generate` writes one{DIMMED:#}\n"
            );
        }
        let row = |it: &PacketInfo| {
            let readers = it.readers.iter();
            // Who only asked a question has read no version.
            let readers: Vec<_> = readers
                .filter(|it| it.read_version > 0)
                .map(|it| format!("{} ({})", it.participant, it.read_version))
                .collect();
            vec![
                it.address.clone(),
                it.version.to_string(),
                grouped(it.tokens),
                it.depth.clone(),
                instant(&it.created_at),
                readers.join(", "),
                it.task.clone(),
            ]
        };
        let rows: Vec<_> = self.packets.iter().map(row).collect();
        let header =
            ["FOR", "#VERSION", "#TOKENS", "DEPTH", "WRITTEN AT (UTC)", "READ BY", "~TASK"];
        table(output, &header, &rows)
    }
}

/// Formats a share in whole percent.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
