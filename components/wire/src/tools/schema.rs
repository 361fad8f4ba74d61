//! Types of tool definitions: JSON Schemas of members, and the definitions around them.
//!
//! Invariant: members are written in the given order, in which models in strict mode fill them.

use serde::{Serialize, Serializer, ser::SerializeMap};

/// One member of a tool's arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    /// Name.
    pub(crate) name: &'static str,
    /// Type.
    pub(crate) kind: Kind,
    /// Description beyond the name.
    pub(crate) about: &'static str,
}

/// Type of a member.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// A text.
    Text,
    /// The session's id: a text that MCP clients repeat in the header `Mcp-Param-Session`, where a
    /// proxy finds it.
    Session,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// Any JSON. Each type is listed separately: an empty schema looks like a mistake, and not
    /// every client supports lists of types.
    Any,
    /// An object with any members.
    Object,
    /// A list of texts.
    Texts,
    /// A list of whole numbers.
    Integers,
    /// A list of objects: their members, and the names of those that must be sent.
    Objects(&'static [Member], &'static [&'static str]),
}

/// Notation of optional members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Optional {
    /// The member is not listed as required.
    Omitted,
    /// The member is required and may be null.
    Null,
}

/// Schema of a tool's arguments.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Arguments {
    r#type: &'static str,
    properties: Properties,
    required: Vec<&'static str>,
    additional_properties: bool,
}

impl Arguments {
    /// Creates the schema of the member `action`, if there is one, and of `members`. Those in
    /// `required` must be sent; the others are noted as `how` says.
    pub(super) fn new(
        action: Option<ActionMember>,
        members: Vec<Member>,
        required: &[&'static str],
        how: Optional,
    ) -> Self {
        let mut needed: Vec<&'static str> = action.iter().map(|_| "action").collect();
        match how {
            Optional::Omitted => needed.extend(required),
            Optional::Null => needed.extend(members.iter().map(|it| it.name)),
        }
        let nullable = members.iter().map(|it| it.name).filter(|it| !required.contains(it));
        let nullable = if how == Optional::Null { nullable.collect() } else { Vec::new() };
        let properties = Properties { action, members, nullable };
        Self { r#type: "object", properties, required: needed, additional_properties: false }
    }
}

/// The member `action`.
#[derive(Debug)]
pub(super) struct ActionMember {
    /// Allowed actions.
    pub(super) one_of: Vec<&'static str>,
    /// Description.
    pub(super) about: String,
}

#[derive(Debug)]
struct Properties {
    action: Option<ActionMember>,
    members: Vec<Member>,
    /// Members that may be null.
    nullable: Vec<&'static str>,
}

impl Serialize for Properties {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(ActionMember { one_of, about }) = &self.action {
            let property = Property { r#enum: one_of, ..Property::of(Kind::Text, about, None) };
            map.serialize_entry("action", &property)?;
        }
        for member in &self.members {
            let null = self.nullable.contains(&member.name).then_some("null");
            map.serialize_entry(member.name, &Property::of(member.kind, member.about, null))?;
        }
        map.end()
    }
}

/// Schema of one member.
#[derive(Debug, Serialize)]
struct Property<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<Type>,
    #[serde(rename = "anyOf", skip_serializing_if = "<[_]>::is_empty")]
    any_of: &'a [TypeSchema],
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Items>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    r#enum: &'a [&'static str],
    #[serde(rename = "x-mcp-header", skip_serializing_if = "Option::is_none")]
    header: Option<&'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
}

impl<'a> Property<'a> {
    fn of(kind: Kind, description: &'a str, null: Option<&'static str>) -> Self {
        let (name, items) = match kind {
            Kind::Text | Kind::Session | Kind::OneOf(_) => (Some("string"), None),
            Kind::Integer => (Some("integer"), None),
            Kind::Number => (Some("number"), None),
            Kind::Boolean => (Some("boolean"), None),
            Kind::Any => (None, None),
            Kind::Object => (Some("object"), None),
            Kind::Texts => {
                (Some("array"), Some(Items { r#type: "string", properties: &[], required: &[] }))
            }
            Kind::Integers => {
                (Some("array"), Some(Items { r#type: "integer", properties: &[], required: &[] }))
            }
            Kind::Objects(properties, required) => {
                (Some("array"), Some(Items { r#type: "object", properties, required }))
            }
        };
        let any_of = if let Kind::Any = kind { &ANY[..] } else { &[] };
        let r#enum = if let Kind::OneOf(texts) = kind { texts } else { &[] };
        let header = matches!(kind, Kind::Session).then_some("Session");
        let r#type = name.map(|name| Type { name, null });
        Self { r#type, any_of, items, r#enum, header, description }
    }
}

/// The types of any JSON value.
const ANY: [TypeSchema; 5] = [
    TypeSchema { r#type: "string" },
    TypeSchema { r#type: "number" },
    TypeSchema { r#type: "boolean" },
    TypeSchema { r#type: "object" },
    TypeSchema { r#type: "array" },
];

/// A schema with only a type.
#[derive(Debug, Serialize)]
struct TypeSchema {
    r#type: &'static str,
}

/// A type, or that type and null.
#[derive(Debug)]
struct Type {
    name: &'static str,
    null: Option<&'static str>,
}

impl Serialize for Type {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.null {
            None => serializer.serialize_str(self.name),
            Some(null) => serializer.collect_seq([self.name, null]),
        }
    }
}

/// Items of a list.
#[derive(Debug, Serialize)]
struct Items {
    r#type: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "members")]
    properties: &'static [Member],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    required: &'static [&'static str],
}

fn members<S: Serializer>(members: &[Member], serializer: S) -> Result<S::Ok, S::Error> {
    serializer
        .collect_map(members.iter().map(|it| (it.name, Property::of(it.kind, it.about, None))))
}

/// A tool in MCP's `tools/list`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct McpTool {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) input_schema: Arguments,
    pub(super) annotations: Hints,
    #[serde(rename = "_meta")]
    pub(super) meta: Meta,
}

/// The effects of a tool, as hints for clients. Omitted hints of MCP have their default value: not
/// read-only, not idempotent.
#[expect(clippy::struct_field_names, reason = "named as in MCP")]
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Hints {
    #[serde(skip_serializing_if = "Option::is_none")]
    read_only_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destructive_hint: Option<bool>,
    open_world_hint: bool,
}

impl Hints {
    /// It changes nothing.
    pub(super) const READS: Self =
        Self { read_only_hint: Some(true), destructive_hint: None, open_world_hint: false };
    /// It changes something, and what was there is kept: as an earlier version, or beside it.
    pub(super) const ADDS: Self =
        Self { read_only_hint: None, destructive_hint: Some(false), open_world_hint: false };
    /// It may remove something.
    pub(super) const REMOVES: Self =
        Self { read_only_hint: None, destructive_hint: Some(true), open_world_hint: false };

    /// Returns true if it changes nothing.
    pub(super) fn is_read_only(self) -> bool {
        self.read_only_hint == Some(true)
    }
}

/// Metadata of a tool besides MCP's own members. It comes last, so that the tool's tokens can be
/// counted without it.
#[derive(Debug, Serialize)]
pub(super) struct Meta {
    /// Exact cost of the tool's definition without this member, in tokens of `o200k_base`.
    #[serde(rename = "shared-context/tokens")]
    pub(super) tokens: u32,
}

/// A tool in `OpenAI`'s chat completions.
#[derive(Debug, Serialize)]
pub(super) struct OpenAiTool {
    pub(super) r#type: &'static str,
    pub(super) function: OpenAiFunction,
}

/// Function of the tool.
#[derive(Debug, Serialize)]
pub(super) struct OpenAiFunction {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) strict: bool,
    pub(super) parameters: Arguments,
}

/// A tool in Anthropic's messages.
#[derive(Debug, Serialize)]
pub(super) struct AnthropicTool {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) strict: bool,
    pub(super) input_schema: Arguments,
}
