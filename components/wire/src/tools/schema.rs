//! What definitions are written with: JSON Schemas of the members a tool takes,
//! and the definitions around them.
//!
//! Leaves out which members there are. Invariant: members are written in the order
//! they are given in, which is that in which strict modes have a model fill them.

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

/// One member of a tool's arguments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    /// Its name.
    pub(super) name: &'static str,
    /// What it holds.
    pub(super) kind: Kind,
    /// What its name does not say; often nothing.
    pub(super) about: &'static str,
}

/// What a member holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A text.
    Text,
    /// The id of the session: a text that clients of MCP repeat in the header
    /// `Mcp-Param-Session`, where a proxy finds it.
    Session,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Whether something is so.
    Boolean,
    /// Any JSON. Its types are named, each by itself: what says nothing reads like a
    /// mistake, and not every client knows lists of types.
    Any,
    /// A list of texts.
    Texts,
    /// A list of objects, none of whose members has to be there.
    Objects(&'static [Member]),
}

/// How it is said that a member may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Optional {
    /// It is not among the required ones.
    Omitted,
    /// It is required, and may be null.
    Null,
}

/// The schema of a tool's arguments.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Arguments {
    r#type: &'static str,
    properties: Properties,
    required: Vec<&'static str>,
    additional_properties: bool,
}

impl Arguments {
    /// Of `needed`, which is one of `enumeration` where that holds any, and of
    /// `optional` members.
    pub(super) fn new(
        needed: Needed,
        optional: impl IntoIterator<Item = Member>,
        how: Optional,
    ) -> Self {
        let optional: Vec<Member> = optional.into_iter().collect();
        let mut required = vec![needed.name];
        if how == Optional::Null {
            required.extend(optional.iter().map(|it| it.name));
        }
        let properties = Properties { needed, optional, how };
        Self { r#type: "object", properties, required, additional_properties: false }
    }
}

/// The member that no call is without: a text.
#[derive(Debug)]
pub(super) struct Needed {
    /// Its name.
    pub(super) name: &'static str,
    /// The texts it may be; any when there are none.
    pub(super) one_of: Vec<&'static str>,
    /// What its name does not say.
    pub(super) about: String,
}

#[derive(Debug)]
struct Properties {
    needed: Needed,
    optional: Vec<Member>,
    how: Optional,
}

impl Serialize for Properties {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.optional.len().saturating_add(1)))?;
        let Needed { name, one_of, about } = &self.needed;
        let needed = Property { r#enum: one_of, ..Property::of(Kind::Text, about, None) };
        map.serialize_entry(name, &needed)?;
        for member in &self.optional {
            let null = (self.how == Optional::Null).then_some("null");
            map.serialize_entry(member.name, &Property::of(member.kind, member.about, null))?;
        }
        map.end()
    }
}

/// The schema of one member.
#[derive(Debug, Serialize)]
struct Property<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<Type>,
    #[serde(rename = "anyOf", skip_serializing_if = "<[_]>::is_empty")]
    any_of: &'a [Only],
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
            Kind::Texts => (Some("array"), Some(Items { r#type: "string", properties: &[] })),
            Kind::Objects(properties) => {
                (Some("array"), Some(Items { r#type: "object", properties }))
            }
        };
        let any_of = if let Kind::Any = kind { &ANY[..] } else { &[] };
        let r#enum = if let Kind::OneOf(texts) = kind { texts } else { &[] };
        let header = matches!(kind, Kind::Session).then_some("Session");
        let r#type = name.map(|name| Type { name, null });
        Self { r#type, any_of, items, r#enum, header, description }
    }
}

/// The types that a value of any JSON has.
const ANY: [Only; 5] = [
    Only { r#type: "string" },
    Only { r#type: "number" },
    Only { r#type: "boolean" },
    Only { r#type: "object" },
    Only { r#type: "array" },
];

/// A schema that says a type and nothing else.
#[derive(Debug, Serialize)]
struct Only {
    r#type: &'static str,
}

/// A type, or it and null.
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

/// The elements of a list.
#[derive(Debug, Serialize)]
struct Items {
    r#type: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "members")]
    properties: &'static [Member],
}

fn members<S: Serializer>(members: &[Member], serializer: S) -> Result<S::Ok, S::Error> {
    serializer
        .collect_map(members.iter().map(|it| (it.name, Property::of(it.kind, it.about, None))))
}

/// A tool, as MCP's `tools/list` tells it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct McpTool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) input_schema: Arguments,
    pub(super) output_schema: Value,
    pub(super) annotations: Value,
    #[serde(rename = "_meta")]
    pub(super) meta: Meta,
}

/// What is told of a tool besides MCP's own members. It comes last, so that the
/// tool can be counted without it.
#[derive(Debug, Serialize)]
pub(super) struct Meta {
    /// What the tool costs an agent that is shown all of it, without this member:
    /// tokens of `o200k_base`, exactly.
    #[serde(rename = "shared-context/tokens")]
    pub(super) tokens: u32,
}

/// A tool, as `OpenAI`'s chat completions take it.
#[derive(Debug, Serialize)]
pub(super) struct OpenAiTool {
    pub(super) r#type: &'static str,
    pub(super) function: OpenAiFunction,
}

/// Its function.
#[derive(Debug, Serialize)]
pub(super) struct OpenAiFunction {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) strict: bool,
    pub(super) parameters: Arguments,
}

/// A tool, as Anthropic's messages take it.
#[derive(Debug, Serialize)]
pub(super) struct AnthropicTool {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) strict: bool,
    pub(super) input_schema: Arguments,
}
