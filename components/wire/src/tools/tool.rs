//! A tool of MCP: which actions it performs, and how it is described.

use shared_context_codec::{ActionInfo, Failure, System, actions, shorten};
use shared_context_core::Role;

use super::schema::{ActionMember, Arguments, Hints, Kind, McpTool, Member, Meta, Optional};

/// A tool of MCP.
#[derive(Debug)]
pub(crate) struct Tool {
    /// Name.
    pub(crate) name: &'static str,
    /// Set that it belongs to.
    pub(crate) set: Toolset,
    /// True if agents do not get it.
    pub(crate) is_for_orchestrators: bool,
    /// Actions that it performs.
    pub(crate) calls: Calls,
    /// Members that it takes besides `action` and `session`.
    pub(crate) members: &'static [Member],
    /// Members that must be sent, besides `action`. With several actions, each has its own.
    pub(crate) required: &'static [&'static str],
    pub(super) description: &'static str,
    pub(super) hints: Hints,
    /// Exact cost of the definition in tokens of `o200k_base`, without `session` and with it. A
    /// host with the tokenizer checks the numbers in a test.
    pub(super) tokens: (u32, u32),
}

/// Actions of a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Calls {
    /// One action of the JSON tool.
    One(&'static str),
    /// Those that the member `action` may name, and its description.
    Chosen(&'static [&'static str], &'static str),
    /// Those of a system that change nothing; the member `action` names one.
    Reads(System, &'static str),
    /// Those of a system that change something and are not for agents; the member `action` names
    /// one.
    Manages(System, &'static str),
}

impl Calls {
    /// Returns the names of the actions.
    pub(crate) fn actions(self) -> Vec<&'static str> {
        let of = |is_wanted: fn(&ActionInfo, System) -> bool, system| {
            actions().filter(|it| is_wanted(it, system)).map(|it| it.name).collect()
        };
        match self {
            Self::One(action) => vec![action],
            Self::Chosen(actions, _) => actions.to_vec(),
            Self::Reads(system, _) => of(|it, system| it.system == system && !it.is_change, system),
            Self::Manages(system, _) => of(
                |it, system| {
                    it.system == system && it.is_change && !it.roles.contains(&Role::Agent)
                },
                system,
            ),
        }
    }

    /// Returns true if the member `action` names the action.
    pub(crate) fn is_named(self) -> bool {
        self.about().is_some()
    }

    /// Returns the description of the member `action`, if there is one.
    fn about(self) -> Option<&'static str> {
        match self {
            Self::One(_) => None,
            Self::Chosen(_, about) | Self::Reads(_, about) | Self::Manages(_, about) => Some(about),
        }
    }
}

/// A set of tools. Sessions and credentials name those that they use besides the working memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Toolset {
    /// The working memory, which every caller gets.
    SharedContext,
    /// Rounds (spec 11).
    DeltaRounds,
    /// Packets (spec 18).
    ContextPackets,
    /// Memories of the session's project (spec 19).
    Memories,
    /// The outline of the session's project (spec 20).
    Outline,
}

impl Toolset {
    /// Every set.
    pub(crate) const ALL: [Self; 5] = [
        Self::SharedContext,
        Self::DeltaRounds,
        Self::ContextPackets,
        Self::Memories,
        Self::Outline,
    ];

    /// Returns true if the tools of the set are about the session's project.
    pub(crate) const fn is_of_projects(self) -> bool {
        matches!(self, Self::Memories | Self::Outline)
    }

    /// Returns the name in lists of sets.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::SharedContext => "shared_context",
            Self::DeltaRounds => "delta_rounds",
            Self::ContextPackets => "context_packets",
            Self::Memories => "memories",
            Self::Outline => "outline",
        }
    }

    /// Parses the names of sets; a set may be named twice.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`: there is no such set.
    pub(crate) fn parse<'n>(names: impl Iterator<Item = &'n str>) -> Result<Vec<Self>, Failure> {
        let parse = |name: &str| {
            Self::named(name).ok_or_else(|| {
                let shown = shorten(name, 40);
                let known = Self::ALL.map(Self::as_str).join(", ");
                let message = format!("tools has no {shown:?}; it may have {known}");
                Failure::new("MALFORMED_REQUEST", message)
            })
        };
        names.map(parse).collect()
    }

    /// Returns the set named `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }
}

/// Argument of the admin's tools: the admin key is for every session.
const SESSION: Member =
    Member { name: "session", kind: Kind::Session, about: "which session to use" };

impl Tool {
    /// Returns the definition for callers of `role`.
    pub(super) fn definition(&self, role: Role) -> McpTool {
        let session = (role == Role::Admin).then_some(SESSION);
        let action = self
            .calls
            .about()
            .map(|about| ActionMember { one_of: self.calls.actions(), about: about.to_owned() });
        let members = self.members.iter().copied().chain(session).collect();
        let session = session.map(|it| it.name);
        let required: Vec<&str> = self.required.iter().copied().chain(session).collect();
        McpTool {
            name: self.name,
            description: self.description,
            input_schema: Arguments::new(action, members, &required, Optional::Omitted),
            annotations: self.hints,
            meta: Meta { tokens: if role == Role::Admin { self.tokens.1 } else { self.tokens.0 } },
        }
    }
}
