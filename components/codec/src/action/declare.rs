//! Declaration of actions. Each action is declared once.
//!
//! The declaration yields the form of the request, the row in the list of actions, the command, the
//! JSON Schemas, the routes and the possible errors.

/// Declares the actions of a system and their forms. Each declaration reads:
///
/// ```text
/// /// Description for agents and people.
/// name: ROLES, read or change;
/// at METHOD "/path/{member}", "an example of the body" -> status;
/// rejects Code, OtherCode;
/// needs { /// Description of a required member.
///         member: Type }
/// takes { /// Description of an optional member; absent or null when it is not sent.
///         member: Type }
/// answers Reply, OtherReply;
/// |request| a `Result` with the command;
/// ```
///
/// `at` and `rejects` are optional, and `at` may be repeated. After the example body, `without`
/// names a member that this route does not accept. After the status come, all optional: the path of
/// the created resource, `or` with the member that is also served as plain text, and `as` with an
/// operation name of its own.
macro_rules! actions {
    (of $system:ident: $(
        $(#[doc = $doc:literal])+
        $name:ident: $roles:expr, $kind:ident;
        $(
            at $method:ident $path:literal $(, $example:literal)? $(without $without:ident)?
                -> $status:literal $($location:literal)? $(or $text:ident)? $(as $operation:ident)?;
        )*
        $(rejects $($code:ident),+;)?
        needs { $($(#[doc = $needs_doc:literal])+ $needs:ident: $needs_type:ty),* $(,)? }
        takes { $($(#[doc = $takes_doc:literal])+ $takes:ident: $takes_type:ty),* $(,)? }
        answers $($reply:ty),+;
        |$request:ident| $command:expr;
    )+) => {
        use $crate::action::declare::names::*;

        pub(crate) const ACTIONS: &[ActionInfo] = &[$(ActionInfo {
            name: stringify!($name),
            system: System::$system,
            scope: System::$system.scope(),
            roles: $roles,
            is_change: kind!($kind),
            description: concat!($($doc),+).trim_ascii_start(),
            required: &[$(stringify!($needs)),*],
            optional: &[$(stringify!($takes)),*],
        }),+];

        pub(crate) const PUBLISHED: &[Published] = &[$(Published {
            routes: &[$(Route {
                method: Method::$method,
                path: template!($system, $path),
                name: optional!($(stringify!($operation))?),
                without: optional!($(stringify!($without))?),
                example: optional!($($example)?),
                status: $status,
                location: optional!($(template!($system, $location))?),
                text: optional!($(stringify!($text))?),
            }),*],
            rejects: &[$($(Code::$code),+)?],
            members: &[
                $(Member {
                    name: stringify!($needs),
                    kind: Kind::of(stringify!($needs_type)),
                    is_needed: true,
                },)*
                $(Member {
                    name: stringify!($takes),
                    kind: Kind::of(stringify!($takes_type)),
                    is_needed: false,
                },)*
            ],
        }),+];

        pub(crate) const FORMS: &[Form] = &[$({
            #[derive(Debug, Default)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            struct Request {
                action: String,
                $($(#[doc = $needs_doc])+ $needs: $needs_type,)*
                $($(#[doc = $takes_doc])+ $takes: Option<$takes_type>,)*
            }

            form! { Request: action = or_absent $(, $needs)* $(, $takes)* }

            Form {
                command: |sent, may_be_null| {
                    let make = |$request: Request| -> Result<Command, Error> { $command };
                    form::parse_or_null(sent, may_be_null).map(make)
                },
                #[cfg(feature = "schema")]
                request_schema: <Request as schemars::JsonSchema>::json_schema,
                #[cfg(feature = "schema")]
                reply_schemas: |generator| vec![$(generator.subschema_for::<$reply>()),+],
            }
        }),+];
    };
}

/// Expands to true for an action that changes something.
macro_rules! kind {
    (read) => {
        false
    };
    (change) => {
        true
    };
}

/// Expands to the full path template: the prefix of the system's scope, then `$path`.
macro_rules! template {
    (Projects, $path:literal) => {
        concat!("/v1/projects/{project}", $path)
    };
    (Memories, $path:literal) => {
        concat!("/v1/projects/{project}", $path)
    };
    (Outline, $path:literal) => {
        concat!("/v1/projects/{project}", $path)
    };
    (Handoffs, $path:literal) => {
        concat!("/v1/projects/{project}", $path)
    };
    ($system:ident, $path:literal) => {
        concat!("/v1/sessions/{session}", $path)
    };
}

/// Expands to `Some` of the given expression, or to `None` without one.
macro_rules! optional {
    () => {
        None
    };
    ($it:expr) => {
        Some($it)
    };
}

/// Names that the expansion of [`actions`] uses.
pub(crate) mod names {
    pub(crate) use shared_context_core::{Code, Command, Error};

    pub(crate) use super::{kind, optional, template};
    pub(crate) use crate::{
        action::{
            ActionInfo, Form, System,
            route::{Kind, Member, Method, Published, Route},
        },
        form::{self, form},
    };
}

pub(crate) use {actions, kind, optional, template};
