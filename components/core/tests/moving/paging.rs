//! A large outline, and large handoffs, are moved in pages.

use shared_context_core::{memories::MemoryRef, outline::INLINE_BYTES_MAX};

use super::*;

/// The most bytes of a page as JSON that its sections and handoffs may have.
const PAGE_MAX: usize = 8 << 20;

fn bytes(page: &PortableProject) -> usize {
    let of = |it: &str| serde_json::to_string(it).unwrap().len();
    let sections = page.sections.iter().map(|it| {
        let versions = it.versions.iter().map(|it| of(&it.content));
        of(&it.content) + versions.sum::<usize>()
    });
    let handoffs = page.handoffs.iter().map(|it| it.package.as_ref().map_or(0, String::len));
    sections.chain(handoffs).sum()
}

/// Returns a project with sections of the largest JSON, in the versions that are kept, and handoffs.
fn large() -> TestHost {
    let host = project();
    add(&host, "Orders are in PostgreSQL");
    let content = "\u{1}".repeat(INLINE_BYTES_MAX);
    for nth in 0..3 {
        for _ in 0..10 {
            put(&host, AGENT, &format!("4.f{nth}"), &content);
        }
    }
    for _ in 0..3 {
        handoff(&host, AGENT, offer(HandoffKind::Complete, OTHER, &[]));
    }
    host
}

#[test]
fn no_page_is_larger_than_half_of_what_hosts_take() {
    let pages = export(&large());
    assert!(pages.len() > 1);
    for page in &pages {
        assert!(bytes(page) <= PAGE_MAX, "{} bytes", bytes(page));
    }
    assert_eq!(pages.iter().map(|it| it.sections.len()).sum::<usize>(), 3);
    assert_eq!(pages.iter().map(|it| it.handoffs.len()).sum::<usize>(), 3);
    let copy = imported(&pages);
    assert_eq!(content(export(&copy)), content(pages));
}

#[test]
fn a_page_is_imported_once_and_in_its_place() {
    let pages = export(&large());
    let host = TestHost::default();
    host.now.set(START + 3_600_000);
    assert!(import(&host, &pages[1]).is_err());
    assert!(host.project_rows("").is_empty());
    import(&host, &pages[0]).unwrap();
    let begun = host.project_rows("");
    let mut short = pages[1].clone();
    short.handoff_count -= 1;
    let mut twice = pages[1].clone();
    twice.sections[0] = pages[0].sections[0].clone();
    for bad in [&pages[0], &short, &twice] {
        assert!(import(&host, bad).is_err());
        assert_eq!(host.project_rows(""), begun);
    }
    let put = ProjectCommand::Outline(put_of(new("4.new", "new")));
    let error = try_ask(&host, AGENT, put).unwrap_err();
    assert_eq!(error.code().as_str(), "PROJECT_ARCHIVED", "until the last page");
    // A package of a later page kept what had been redacted.
    let (reason, id) = (line("a key"), MemoryRef::parse("DEC-2026-02-20-001").unwrap());
    let redact = OutlineCommand::Redact { marker: marker("4.f0"), reason: reason.clone() };
    for redact in [
        ProjectCommand::Outline(redact),
        ProjectCommand::Memories(MemoriesCommand::Redact { id, reason }),
    ] {
        let error = try_ask(&host, ORCHESTRATOR, redact).unwrap_err();
        assert_eq!(error.code().as_str(), "PROJECT_ARCHIVED");
        assert!(error.to_string().contains("is not finished"), "{error}");
    }
    // It was archived, and the next page undid that.
    let error = try_ask(&host, "admin", ProjectCommand::Archive).unwrap_err();
    assert_eq!(error.code().as_str(), "PROJECT_ARCHIVED");
    assert!(error.to_string().contains("is not finished"), "{error}");
    for page in &pages[1..] {
        import(&host, page).unwrap();
    }
    assert_eq!(content(export(&host)), content(pages));
}

/// Only the times of the first page once counted: on a host whose clock was behind, a later section
/// got a version older than the one before it, and the copy could not be imported again.
#[test]
fn a_copy_continues_after_the_latest_time_of_all_pages() {
    let host = large();
    host.now.set(START + 7_200_000);
    put(&host, OTHER, "4.f2", "late");
    let copy = TestHost::default();
    copy.now.set(START);
    let pages = export(&host);
    assert!(pages.len() > 1 && pages[0].sections.iter().all(|it| it.section.version < 11));
    for page in &pages {
        import(&copy, page).unwrap();
    }
    put(&copy, OTHER, "4.f2", "later");
    imported(&export(&copy));
}

#[test]
fn a_page_after_the_last_place_is_empty() {
    let page = page(&webshop(), 1_000);
    assert_eq!((page.next, page.sections.len(), page.handoffs.len()), (None, 0, 0));
}
