//! How an action is declared: once, with all that is known of it.
//!
//! From its declaration follow the form of its request, its row in the list of actions,
//! the command it makes and its JSON Schemas.

/// Declares the actions of a system: what is known of them, and their forms. Each reads:
///
/// ```text
/// /// What it does, for agents and people.
/// name: WHO, read or change;
/// needs { /// What it is.
///         member: Type }
/// takes { /// What it is; absent or null when it is not sent.
///         member: Type }
/// answers Reply, OtherReply;
/// |request| the command, or why it is none;
/// ```
macro_rules! actions {
    (of $system:ident: $(
        $(#[doc = $doc:literal])+
        $name:ident: $roles:expr, $kind:ident;
        needs { $($(#[doc = $needs_doc:literal])+ $needs:ident: $needs_type:ty),* $(,)? }
        takes { $($(#[doc = $takes_doc:literal])+ $takes:ident: $takes_type:ty),* $(,)? }
        answers $($reply:ty),+;
        |$request:ident| $command:expr;
    )+) => {
        pub(super) const ACTIONS: &[ActionInfo] = &[$(ActionInfo {
            name: stringify!($name),
            system: System::$system,
            roles: $roles,
            is_change: kind!($kind),
            description: concat!($($doc),+).trim_ascii_start(),
            required: &[$(stringify!($needs)),*],
            optional: &[$(stringify!($takes)),*],
        }),+];

        pub(super) const FORMS: &[Form] = &[$({
            #[derive(Debug, Default)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            struct Request {
                action: String,
                $($(#[doc = $needs_doc])+ $needs: $needs_type,)*
                $($(#[doc = $takes_doc])+ $takes: Option<$takes_type>,)*
            }

            form! { Request: action $(, $needs)* $(, $takes)*; or null $crate::action::is_member }

            Form {
                command: |sent| {
                    let make = |$request: Request| -> Result<Command, Error> { $command };
                    form::parse(sent).map(make)
                },
                #[cfg(feature = "schema")]
                request_schema: <Request as schemars::JsonSchema>::json_schema,
                #[cfg(feature = "schema")]
                reply_schemas: |generator| vec![$(generator.subschema_for::<$reply>()),+],
            }
        }),+];
    };
}

/// Whether an action is a change.
macro_rules! kind {
    (read) => {
        false
    };
    (change) => {
        true
    };
}

pub(super) use {actions, kind};
