//! The actions on a project itself.

use shared_context_core::{
    ProjectCommand, ProjectConfig, config::MEMORIES_DEFAULT, kv::Revision, tokens::Estimator,
};

#[cfg(feature = "schema")]
use super::{DeleteProjectReply, ProjectReply, SessionsReply, document::DocumentForm};
#[cfg(feature = "schema")]
use crate::feed::ChangesReply;
use crate::{
    action::{ADMIN, ANYONE, REDACTORS, declare::actions},
    checks,
    project::document::{self, ProjectDocument},
};

actions! {
    of Projects:

    /// Create the project, empty. Sessions that belong to it name it in their configuration.
    create_project: ADMIN, change;
        at Put "" -> 201 "";
        rejects ProjectExists;
        needs {}
        takes {
            /// The most memories, 1 to 50000; 10000 when absent.
            memories_max: u32,
            /// The token counter: `approximate`, or an encoding of the host, such as `o200k_base`;
            /// approximate when absent. It never changes.
            estimator: String,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers ProjectReply<'_>;
        |it| {
            let id = checks::request_id(it.request_id.as_deref())?;
            let estimator = it.estimator.as_deref().map(Estimator::parse).transpose()?;
            let config = ProjectConfig {
                memories_max: it.memories_max.unwrap_or(MEMORIES_DEFAULT),
                estimator: estimator.unwrap_or_default(),
            };
            config.check()?;
            Ok(checks::named(id, Command::Project(ProjectCommand::Create(config))))
        };

    /// Show what is known of the project.
    show_project: ANYONE, read;
        at Get "" -> 200;
        needs {}
        takes {}
        answers ProjectReply<'_>;
        |_it| Ok(Command::Project(ProjectCommand::Show));

    /// Make the project read-only, for ever. What it knows can still be read and found.
    archive_project: ADMIN, change;
        at Post "/archive", "{}" -> 200;
        rejects ProjectArchived;
        needs {}
        takes {
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers ProjectReply<'_>;
        |it| {
            let id = checks::request_id(it.request_id.as_deref())?;
            Ok(checks::named(id, Command::Project(ProjectCommand::Archive)))
        };

    /// Read what changed in the project since a revision, oldest first; never a content.
    project_changes: ANYONE, read;
        rejects ChangesTruncated;
        needs {}
        takes {
            /// Begin after this revision; with the oldest that is kept when absent.
            since: u64,
            /// How many commits at most, 1 to 1000; 100 when absent.
            limit: u32,
        }
        answers ChangesReply<'_>;
        |it| {
            let (since, limit) = (it.since.map(Revision), checks::limit(it.limit)?);
            Ok(Command::Project(ProjectCommand::Changes { since, limit }))
        };

    /// List the sessions that worked on the project, the one that did something last first.
    project_sessions: REDACTORS, read;
        at Get "/sessions" -> 200;
        needs {}
        takes {
            /// How many at most, 1 to 1000; 100 when absent.
            limit: u32,
        }
        answers SessionsReply<'_>;
        |it| Ok(Command::Project(ProjectCommand::Sessions { limit: checks::limit(it.limit)? }));

    /// Take the project out as one document with digests: memories, sections and handoffs, but no leases.
    /// A large project has several: while one has
    /// `next`, ask again with it as `after`.
    export_project: ADMIN, read;
        at Get "/export" -> 200;
        needs {}
        takes {
            /// The `next` of the document before; the first document when absent.
            after: u64,
        }
        answers DocumentForm;
        |it| Ok(Command::Project(ProjectCommand::Export { after: it.after.unwrap_or(0) }));

    /// Create the project from an exported document. Of several, import one after the other, in their
    /// order: the project is read-only until the last.
    import_project: ADMIN, change;
        rejects FormatTooNew, DocumentAltered, ProjectExists, MemoryLimit;
        needs {
            /// The document as `export_project` returned it.
            document: ProjectDocument,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers ProjectReply<'_>;
        |it| {
            let id = checks::request_id(it.request_id.as_deref())?;
            let (page, digest) = document::parse(it.document.0.get())?;
            let command = ProjectCommand::Import { page: Box::new(page), digest };
            Ok(checks::named(id, Command::Project(command)))
        };

    /// Remove the project and all it holds. Sessions that name it stay.
    delete_project: ADMIN, change;
        at Delete "" -> 200;
        needs {}
        takes {}
        answers DeleteProjectReply<'_>;
        |_it| Ok(Command::Project(ProjectCommand::Delete));
}
