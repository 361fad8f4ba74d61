//! Checks that the contract in `wit/` is documented: every item has a description and the version
//! since which it exists, every field and case a description. The worlds of `hosts/spin/wit` need
//! no version: they are composed away, and no third party builds against them.

use std::path::Path;

use anyhow::{Context, Result};
use wit_parser::{
    Docs, Function, Interface, PackageId, Resolve, Span, Stability, Type, TypeDef, TypeDefKind,
    TypeOwner,
};

use super::Finding;

/// Checks the packages of the repository at `root`.
pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let mut resolve = Resolve::default();
    let mut findings = Vec::new();
    // The last builds on the first.
    for (folder, is_published) in [("wit", true), ("wit/context", true), ("hosts/spin/wit", false)]
    {
        let pushed = resolve.push_dir(root.join(folder));
        let (package, _) = pushed.with_context(|| format!("{folder} holds no valid package"))?;
        findings.extend(check_package(&resolve, package, is_published));
    }
    for finding in &mut findings {
        let path = Path::new(&finding.path);
        finding.path = path.strip_prefix(root).unwrap_or(path).display().to_string();
    }
    Ok(findings)
}

/// Checks `package`. Every published item must state since which version it exists.
fn check_package(resolve: &Resolve, package: PackageId, is_published: bool) -> Vec<Finding> {
    let mut rule = Rule { resolve, is_published, findings: Vec::new() };
    for (_, world) in resolve.worlds.iter().filter(|(_, world)| world.package == Some(package)) {
        rule.item(&world.name, world.span, &world.docs, &world.stability);
    }
    for (_, interface) in resolve.interfaces.iter().filter(|(_, i)| i.package == Some(package)) {
        rule.interface(interface);
    }
    rule.findings
}

struct Rule<'a> {
    resolve: &'a Resolve,
    is_published: bool,
    findings: Vec<Finding>,
}

impl Rule<'_> {
    fn interface(&mut self, interface: &Interface) {
        let name = interface.name.as_deref().unwrap_or("an interface");
        self.item(name, interface.span, &interface.docs, &interface.stability);
        for (name, id) in &interface.types {
            if let Some(definition) = self.resolve.types.get(*id)
                && !self.is_use(definition)
            {
                self.definition(name, definition);
            }
        }
        for (name, Function { span, docs, stability, .. }) in &interface.functions {
            self.item(name, *span, docs, stability);
        }
    }

    fn definition(&mut self, name: &str, definition: &TypeDef) {
        self.item(name, definition.span, &definition.docs, &definition.stability);
        let parts: Vec<_> = match &definition.kind {
            TypeDefKind::Record(record) => {
                record.fields.iter().map(|part| (&part.name, part.span, &part.docs)).collect()
            }
            TypeDefKind::Variant(variant) => {
                variant.cases.iter().map(|part| (&part.name, part.span, &part.docs)).collect()
            }
            TypeDefKind::Enum(cases) => {
                cases.cases.iter().map(|part| (&part.name, part.span, &part.docs)).collect()
            }
            TypeDefKind::Flags(flags) => {
                flags.flags.iter().map(|part| (&part.name, part.span, &part.docs)).collect()
            }
            _ => Vec::new(),
        };
        for (part, span, docs) in parts {
            self.documented(&format!("{name}.{part}"), span, docs);
        }
    }

    /// Returns whether the type was only made known by `use`.
    fn is_use(&self, definition: &TypeDef) -> bool {
        let TypeDefKind::Type(Type::Id(id)) = definition.kind else { return false };
        let original = self.resolve.types.get(id).map(|original| original.owner);
        original.is_some_and(|owner| owner != TypeOwner::None && owner != definition.owner)
    }

    fn item(&mut self, name: &str, span: Span, docs: &Docs, stability: &Stability) {
        self.documented(name, span, docs);
        if self.is_published && stability.is_unknown() {
            self.finding(
                span,
                &format!("{name} does not say since when it is: add `@since(version = …)`"),
            );
        }
    }

    fn documented(&mut self, name: &str, span: Span, docs: &Docs) {
        if docs.is_empty() {
            self.finding(span, &format!("{name} is not documented: say what it means by `///`"));
        }
    }

    fn finding(&mut self, span: Span, message: &str) {
        let location = self.resolve.render_location(span);
        let mut parts = location.rsplitn(3, ':');
        let (_column, line, path) = (parts.next(), parts.next(), parts.next());
        let line = line.and_then(|line| line.parse().ok()).unwrap_or(1);
        self.findings.push(Finding::fault(path.unwrap_or("wit"), line, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_one(interfaces: &str) -> Vec<String> {
        check_with(interfaces, true)
    }

    fn check_with(interfaces: &str, is_published: bool) -> Vec<String> {
        let mut resolve = Resolve::default();
        let text = format!("package a:b@0.1.0;\n{interfaces}");
        let package = resolve.push_source("wit/test.wit", &text).unwrap();
        let findings = check_package(&resolve, package, is_published);
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_documented_contract_passes() {
        let found = check_one(
            "/// Words.
            @since(version = 0.1.0)
            interface types {
                /// A count.
                @since(version = 0.1.0)
                type tokens = u32;
            }
            /// Keys.
            @since(version = 0.1.0)
            interface keys {
                use types.{tokens};
                /// A key.
                @since(version = 0.1.0)
                record key {
                    /// Its size.
                    size: tokens,
                }
                /// Keys, open.
                @since(version = 0.1.0)
                resource bucket {
                    /// Reads one.
                    @since(version = 0.1.0)
                    get: func() -> key;
                }
            }
            /// All.
            @since(version = 0.1.0)
            world all { import keys; }",
        );
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn every_item_says_what_it_is_and_since_when() {
        let found = check_one("interface i {\n  f: func();\n  enum e { one }\n}\nworld w {}");
        let since = "add `@since(version = …)`";
        assert_eq!(found.iter().filter(|finding| finding.ends_with(since)).count(), 4);
        assert!(found.contains(
            &"wit/test.wit:4: e.one is not documented: say what it means by `///`".to_owned()
        ));
    }
    #[test]
    fn what_nobody_builds_against_says_what_it_is() {
        let found = check_with("interface i {\n  f: func();\n}\n/// All.\nworld w {}", false);
        assert_eq!(
            found,
            ["i", "f"].map(|name| {
                let line = if name == "i" { 2 } else { 3 };
                format!("wit/test.wit:{line}: {name} is not documented: say what it means by `///`")
            })
        );
    }
}
