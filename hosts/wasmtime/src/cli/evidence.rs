//! The command `evidence`: what an agent saw, with digests that anyone can check.

use serde::Deserialize;
use serde_json::Value;
use shared_context_core::{canonical, digest::sha256};

use super::{
    argument::{SessionName, switch},
    caller::CallerArgs,
    client::parse,
    output::{Output, counted, remark},
    problem::Problem,
    server::ServerArgs,
};

/// Print what an agent was shown, and why, as evidence
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context evidence ticket-7 ENV-1 > evidence.json
  shared-context evidence ticket-7 ENV-1 --verify --as subagent:review

The evidence is one JSON document: the envelope, the texts that were shown, and
the digests of all of them. With --verify the digests are computed again. If one
differs, nothing is printed, and the exit code is 5.")]
pub(crate) struct Arguments {
    /// The session; . is the default one
    session: SessionName,
    /// The envelope, such as ENV-1
    #[arg(value_name = "ENV-N")]
    envelope: String,
    /// Check every digest before printing
    #[arg(long, env = "SHARED_CONTEXT_EVIDENCE_VERIFY", value_parser = switch)]
    verify: bool,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Exported evidence.
#[derive(Debug, Deserialize)]
struct Evidence {
    id: String,
    digest: String,
    envelope: Value,
    parts: Vec<Part>,
}

/// A part of the text that was shown.
#[derive(Debug, Deserialize)]
struct Part {
    item: Option<String>,
    digest: String,
    before: String,
    text: Option<String>,
    redacted: Option<String>,
    #[serde(default)]
    withheld: bool,
    after: String,
}

/// Runs `evidence`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let Arguments { session, envelope, verify, caller, server } = arguments;
    let server = server.server()?;
    let session = &server.session(session)?;
    let bearer = caller.bearer(&server, session)?;
    let path = ["v1", "sessions", session, "context", "envelopes", envelope, "evidence"];
    let reply = server.send(&server.client.get(&path, &[]), Some(&bearer))?;
    if *verify {
        let evidence: Value = parse(&reply, &server.client)?;
        let checked = check(evidence).map_err(|difference| {
            Problem::check(format!("{envelope}: {difference}"))
                .next("without --verify the evidence is printed as it is")
        })?;
        remark(&checked);
    }
    if output.is_json { output.answer(&reply, || Ok(String::new())) } else { Output::exact(&reply) }
}

/// Computes every digest of an evidence document again. Returns what was checked, or what differs.
fn check(mut document: Value) -> Result<String, String> {
    let evidence = Evidence::deserialize(&document).map_err(|it| it.to_string())?;
    let checked = evidence.check()?;
    let digest = document.as_object_mut().and_then(|it| it.remove("document_digest"));
    let canonical = canonical::text(&document).map_err(|it| it.to_string())?;
    if digest.as_ref().and_then(Value::as_str) != Some(sha256(canonical).as_str()) {
        return Err("the document does not have its digest".to_owned());
    }
    Ok(checked)
}

impl Evidence {
    /// Computes the digests of the envelope and of its parts again. Returns what was checked, or what
    /// differs.
    fn check(&self) -> Result<String, String> {
        let canonical = canonical::text(&self.envelope).map_err(|it| it.to_string())?;
        if sha256(&canonical) != self.digest {
            return Err("the envelope does not have its digest".to_owned());
        }
        let list = |path| self.envelope.pointer(path).and_then(Value::as_array);
        // The result of a compaction is a list of texts with nothing around them.
        let result = list("/result");
        let blocks = result.or_else(|| list("/assembly/blocks"));
        let blocks = blocks.map(Vec::as_slice).unwrap_or_default();
        if blocks.len() != self.parts.len() {
            return Err(format!(
                "the envelope has {}, and the evidence {}",
                counted(number(blocks.len()), "block"),
                counted(number(self.parts.len()), "part")
            ));
        }
        let mut texts = 0_u64;
        for (nth, (part, block)) in self.parts.iter().zip(blocks).enumerate() {
            let nth = nth.saturating_add(1);
            let name = part.item.as_deref().unwrap_or("the task");
            let differs = |what: &str| Err(format!("part {nth} ({name}) {what}"));
            let member = |name| block.get(name).and_then(Value::as_str);
            if member("item") != part.item.as_deref() {
                return differs("is another item than the block of the envelope");
            }
            let of_item = |id: &String| {
                let mut items = list("/items").into_iter().flatten();
                items.find(|it| it.get("id").and_then(Value::as_str) == Some(id.as_str()))
            };
            let source = match &part.item {
                Some(id) => of_item(id),
                None => self.envelope.get("task"),
            };
            let member_of = |name| source.and_then(|it| it.get(name));
            let stated = if result.is_some() { Some(block) } else { source };
            let stated = stated.and_then(|it| it.get("digest")).and_then(Value::as_str);
            if stated != Some(part.digest.as_str()) {
                return differs("has another digest than the item of the envelope");
            }
            let is_reference = member_of("is_reference").and_then(Value::as_bool) == Some(true);
            let text = match &part.text {
                Some(text) if sha256(text) != part.digest => {
                    return differs("has a text without its digest");
                }
                Some(text) => text.as_str(),
                None if part.redacted.is_some() || part.withheld => continue,
                None if is_reference => "",
                None => return differs("has no text, and no reason"),
            };
            if result.is_some() {
                texts = texts.saturating_add(u64::from(part.text.is_some()));
                continue;
            }
            let block = sha256([part.before.as_str(), text, part.after.as_str()].concat());
            if member("digest") != Some(block.as_str()) {
                return differs("does not have the digest of its block");
            }
            texts = texts.saturating_add(1);
        }
        let missing = number(self.parts.len()).saturating_sub(texts);
        let rest = if missing == 0 { String::new() } else { format!(", {missing} without a text") };
        Ok(format!(
            "{}: the envelope, {} and the document have their digests{rest}",
            self.id,
            counted(texts, "part")
        ))
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn evidence() -> Value {
        let envelope = json!({
            "assembly": {"blocks": [
                {"digest": sha256("### a\nFive.\n"), "item": "a"},
                {"digest": sha256("### b\n"), "item": "b"},
                {"digest": sha256("Why?\n")},
            ]},
            "items": [
                {"digest": sha256("Five."), "id": "a", "is_reference": false},
                {"digest": sha256("large"), "id": "b", "is_reference": true},
            ],
            "selection": {"candidates": [{"id": "a", "relevance": 0.8726}, {"id": "b", "relevance": 1}]},
            "task": {"digest": sha256("Why?")},
        });
        let document = json!({
            "open": "Data:\n", "id": "ENV-1", "digest": sha256(canonical::text(&envelope).unwrap()),
            "envelope": envelope, "parts": [
                {"item": "a", "digest": sha256("Five."), "before": "### a\n", "text": "Five.", "after": "\n"},
                {"item": "b", "digest": sha256("large"), "before": "### b\n", "after": ""},
                {"digest": sha256("Why?"), "before": "", "text": "Why?", "after": "\n"},
            ],
        });
        signed(document)
    }

    /// Returns the document with the digest that it then has.
    fn signed(mut document: Value) -> Value {
        document.as_object_mut().unwrap().remove("document_digest");
        let digest = sha256(canonical::text(&document).unwrap());
        document["document_digest"] = digest.into();
        document
    }

    #[test]
    fn evidence_as_exported_has_its_digests() {
        assert_eq!(
            check(evidence()).unwrap(),
            "ENV-1: the envelope, 3 parts and the document have their digests"
        );
        let mut redacted = evidence();
        let part = redacted["parts"][0].as_object_mut().unwrap();
        part.remove("text");
        part.insert("redacted".to_owned(), "a password".into());
        assert!(check(signed(redacted)).unwrap().ends_with(", 1 without a text"));
    }

    #[test]
    fn evidence_of_a_compaction_has_its_digests() {
        let envelope = json!({
            "items": [
                {"digest": sha256("Five."), "id": "a", "is_reference": false},
                {"digest": sha256("large"), "id": "b", "is_reference": true},
                {"digest": sha256("long"), "id": "c", "is_reference": false},
            ],
            "result": [
                {"digest": sha256("# Compacted context"), "item": "digest:1", "tokens": 5},
                {"digest": sha256("Five."), "item": "a", "tokens": 2},
                {"digest": sha256("large"), "item": "b", "tokens": 2},
                {"digest": sha256("[cleared]"), "item": "c", "tokens": 2},
            ],
        });
        let part = |item: &str, text: &str| json!({"item": item, "digest": sha256(text), "before": "", "text": text, "after": ""});
        let mut reference = part("b", "large");
        reference.as_object_mut().unwrap().remove("text");
        let document = json!({
            "open": "", "id": "ENV-2", "digest": sha256(canonical::text(&envelope).unwrap()),
            "envelope": envelope, "parts": [
                part("digest:1", "# Compacted context"), part("a", "Five."), reference,
                part("c", "[cleared]"),
            ],
        });
        assert_eq!(
            check(signed(document.clone())).unwrap(),
            "ENV-2: the envelope, 3 parts and the document have their digests, 1 without a text"
        );
        let mut altered = document;
        altered["parts"][3] = part("c", "[other]");
        let difference = "part 4 (c) has another digest than the item of the envelope";
        assert_eq!(check(altered).unwrap_err(), difference);
    }

    #[test]
    fn what_was_altered_is_named() {
        let altered = |path: &str, value: Value| {
            let mut evidence = evidence();
            *evidence.pointer_mut(path).unwrap() = value;
            check(evidence).unwrap_err()
        };
        let relevance = "/envelope/selection/candidates/0/relevance";
        assert_eq!(altered(relevance, json!(0.8727)), "the envelope does not have its digest");
        assert_eq!(
            altered("/parts/0/text", "Six.".into()),
            "part 1 (a) has a text without its digest"
        );
        assert_eq!(
            altered("/parts/1/before", "### c\n".into()),
            "part 2 (b) does not have the digest of its block"
        );
        assert_eq!(
            altered("/parts/2/digest", sha256("Who?").into()),
            "part 3 (the task) has another digest than the item of the envelope"
        );
        assert_eq!(altered("/open", "".into()), "the document does not have its digest");
        assert_eq!(altered("/parts/0/text", Value::Null), "part 1 (a) has no text, and no reason");
        assert_eq!(
            altered("/parts", json!([])),
            "the envelope has 3 blocks, and the evidence 0 parts"
        );
    }
}
