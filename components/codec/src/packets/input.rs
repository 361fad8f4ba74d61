//! Builders of commands about packets (spec 18).

use serde_json::value::RawValue;
use shared_context_core::{
    Command, Error, Key, PacketsCommand,
    packets::{
        Address, Depth, EditPacket, Feedback, Form, GeneratePacket, GiveFeedback, Layer, Outcome,
        QueryPacket, ReadPacket, check_document, check_question, check_task_type,
    },
    tokens::Tokens,
};

use super::forms::{FactsForm, FileForm, LinkForm};
use crate::{
    checks,
    item::{self, ItemForm},
};

/// A request for a packet, not yet validated.
#[derive(Debug, Default)]
pub(crate) struct GenerateInput {
    pub(crate) task: Option<String>,
    pub(crate) address: Option<String>,
    pub(crate) task_type: Option<String>,
    pub(crate) depth: Option<String>,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) form: Option<String>,
    pub(crate) conversation: Vec<ItemForm>,
    pub(crate) files: Vec<FileForm>,
    pub(crate) facts: Option<FactsForm>,
    pub(crate) links: Vec<LinkForm>,
    pub(crate) keys: Vec<String>,
    pub(crate) preview: Option<bool>,
    pub(crate) refresh: Option<bool>,
}

impl GenerateInput {
    /// Returns true if it has something besides the address.
    fn has_content(&self) -> bool {
        let texts = [&self.task, &self.task_type, &self.depth, &self.form];
        texts.into_iter().any(Option::is_some)
            || self.max_tokens.is_some()
            || self.facts.is_some()
            || self.preview == Some(true)
            || !(self.conversation.is_empty()
                && self.files.is_empty()
                && self.links.is_empty()
                && self.keys.is_empty())
    }
}

/// Builds the command to write a packet.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `INVALID_KEY`.
pub(crate) fn generate(it: GenerateInput, request_id: Option<&str>) -> Result<Command, Error> {
    let id = checks::request_id(request_id)?;
    let address = it.address.as_deref().map_or(Ok(Address::Shared), Address::parse)?;
    if it.refresh == Some(true) {
        if it.has_content() {
            return Err(Error::malformed(
                "refresh writes the packet again from what it was made from; send only address \
                 with it, or leave refresh out",
            ));
        }
        return Ok(checks::named(id, Command::Packets(PacketsCommand::Refresh(address))));
    }
    let (conversation, _) = item::items(it.conversation)?;
    let task = it.task.ok_or_else(|| {
        Error::malformed("context_generate needs task, or refresh for a packet that there is")
    })?;
    let depth = it.depth.as_deref().map(Depth::parse).transpose()?;
    let form = it.form.as_deref().map_or(Ok(Form::Markdown), Form::parse)?;
    let facts = it.facts.map(FactsForm::facts).transpose()?.unwrap_or_default();
    let mut later = None;
    let keys = it.keys.iter().map(|it| Key::parse(it));
    let request = GeneratePacket {
        task,
        task_type: it.task_type,
        address,
        depth,
        budget: it.max_tokens.map(Tokens),
        form,
        conversation,
        files: it.files.into_iter().map(FileForm::file).collect(),
        facts,
        links: it.links.into_iter().map(LinkForm::link).collect(),
        keys: checks::collect_malformed_first(keys, &mut later)?,
        is_preview: it.preview.unwrap_or(false),
    };
    request.check()?;
    if let Some(error) = later {
        return Err(error);
    }
    let command = Command::Packets(PacketsCommand::Generate(Box::new(request)));
    Ok(checks::named(id, command))
}

/// Builds the command to edit a packet.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn edit(address: &str, patch: &str, request_id: Option<&str>) -> Result<Command, Error> {
    if !patch.trim_start().starts_with('{') {
        return Err(Error::malformed(
            "patch must be a JSON object: a merge patch of the packet, for example \
             {\"context\":{\"goal\":\"Add JWT auth\"}}",
        ));
    }
    let it = EditPacket { address: Address::parse(address)?, patch: patch.to_owned() };
    let id = checks::request_id(request_id)?;
    Ok(checks::named(id, Command::Packets(PacketsCommand::Edit(it))))
}

/// A request to read a packet, not yet validated.
#[derive(Debug, Default)]
pub struct ReadInput<'a> {
    /// Whom the packet is for.
    pub address: Option<&'a str>,
    /// The version.
    pub version: Option<u32>,
    /// One layer only.
    pub layer: Option<&'a str>,
    /// A greater depth.
    pub depth: Option<&'a str>,
    /// The form.
    pub form: Option<&'a str>,
    /// A document to compare the packet with.
    pub compared: Option<&'a RawValue>,
}

/// Builds the command to read a packet.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `DOCUMENT_ALTERED`.
pub fn read(it: &ReadInput<'_>) -> Result<Command, Error> {
    let layer = it.layer.map(Layer::parse).transpose()?;
    let depth = it.depth.map(Depth::parse).transpose()?;
    if layer.is_some() && depth.is_some() {
        return Err(Error::malformed("a read has a layer or a depth, not both; send one of them"));
    }
    let request = ReadPacket {
        address: it.address.map(Address::parse).transpose()?,
        version: it.version,
        layer,
        depth,
        form: it.form.map_or(Ok(Form::Markdown), Form::parse)?,
        compared: it.compared.map(|it| it.get().to_owned()),
    };
    if let Some(document) = &request.compared {
        check_document(document)?;
    }
    Ok(Command::Packets(PacketsCommand::Read(Box::new(request))))
}

/// Feedback on a packet, not yet validated.
#[derive(Debug, Default)]
pub struct FeedbackInput<'a> {
    /// Whom the packet is for.
    pub address: Option<&'a str>,
    /// The version.
    pub version: Option<u32>,
    /// How the task ended.
    pub outcome: Option<&'a str>,
    /// What was lacking.
    pub gaps: Vec<String>,
    /// What was not used.
    pub unused: Vec<String>,
    /// Anything else.
    pub note: Option<String>,
}

/// Builds the command to give feedback on a packet.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn feedback(it: FeedbackInput<'_>, request_id: Option<&str>) -> Result<Command, Error> {
    let outcome = it.outcome.map(Outcome::parse).transpose()?;
    let feedback = Feedback { gaps: it.gaps, unused: it.unused, outcome, note: it.note };
    feedback.check()?;
    let it = GiveFeedback {
        address: it.address.map(Address::parse).transpose()?,
        version: it.version,
        feedback,
    };
    let id = checks::request_id(request_id)?;
    Ok(checks::named(id, Command::Packets(PacketsCommand::Feedback(it))))
}

/// Builds the command to ask what a packet is made from.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn query(question: String, address: Option<&str>) -> Result<Command, Error> {
    check_question(&question)?;
    let address = address.map(Address::parse).transpose()?;
    Ok(Command::Packets(PacketsCommand::Query(QueryPacket { address, question })))
}

/// Builds the command to read the statistics of packets.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn statistics(task_type: Option<String>) -> Result<Command, Error> {
    task_type.as_deref().map(check_task_type).transpose()?;
    Ok(Command::Packets(PacketsCommand::Statistics(task_type)))
}

/// Builds the command to remove a packet.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn clear(address: &str, request_id: Option<&str>) -> Result<Command, Error> {
    let command = Command::Packets(PacketsCommand::Clear(Address::parse(address)?));
    Ok(checks::named(checks::request_id(request_id)?, command))
}
