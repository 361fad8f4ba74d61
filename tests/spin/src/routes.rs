//! Routes paths to components.
//!
//! `/notes` matches only itself; `/notes/...` matches itself and all paths below it. If
//! several routes match, an exact one wins, else the longest. Wildcards in the middle
//! (`/:id/notes`) work in Spin but are not supported here.

use anyhow::ensure;

/// The prefix of the runtime's own paths.
pub(crate) const WELL_KNOWN: &str = "/.well-known/spin/";

const WILDCARD: &str = "/...";

/// The routes of an application.
#[derive(Debug)]
pub(crate) struct Router {
    routes: Vec<Route>,
}

/// One route.
#[derive(Debug)]
pub(crate) struct Route {
    /// The route as written in the manifest.
    pub(crate) raw: String,
    pub(crate) component: String,
    /// The segments of its path, or of its prefix.
    segments: Vec<String>,
    has_wildcard: bool,
}

/// A route that matches a path.
#[derive(Debug)]
pub(crate) struct Match<'a> {
    pub(crate) route: &'a Route,
    /// The part of the path that the wildcard matches.
    pub(crate) rest: String,
}

impl Router {
    /// Creates a router from pairs of a route and a component's name.
    ///
    /// # Errors
    ///
    /// A route has a wildcard in the middle.
    pub(crate) fn new(routes: Vec<(String, String)>) -> anyhow::Result<Self> {
        let routes = routes.into_iter().map(|(raw, component)| {
            let path = raw.strip_suffix(WILDCARD);
            let (path, has_wildcard) = (path.unwrap_or(&raw), path.is_some());
            ensure!(!path.contains([':', '*']), "route {raw:?}: only `/...` at its end is known");
            let segments = segments(path).map(str::to_owned).collect();
            Ok(Route { raw: raw.clone(), component, segments, has_wildcard })
        });
        Ok(Self { routes: routes.collect::<anyhow::Result<_>>()? })
    }

    /// Returns the route for `path`.
    pub(crate) fn find(&self, path: &str) -> Option<Match<'_>> {
        let asked: Vec<_> = segments(path).collect();
        let fits = |route: &&Route| {
            asked.starts_with(&route.segments.iter().map(String::as_str).collect::<Vec<_>>())
                && (route.has_wildcard || asked.len() == route.segments.len())
        };
        let best = |route: &&Route| (!route.has_wildcard, route.segments.len());
        let route = self.routes.iter().filter(fits).max_by_key(best)?;
        let rest = asked.get(route.segments.len()..).unwrap_or_default();
        let mut rest: String = rest.iter().flat_map(|it| ["/", it]).collect();
        if route.has_wildcard && path.ends_with('/') {
            rest.push('/');
        }
        Some(Match { route, rest })
    }

    /// Returns all routes.
    pub(crate) fn routes(&self) -> &[Route] {
        &self.routes
    }
}

impl Route {
    /// Returns the route without its wildcard.
    pub(crate) fn prefix(&self) -> &str {
        self.raw.strip_suffix(WILDCARD).unwrap_or(&self.raw)
    }

    /// Returns the route as it is listed when the application starts.
    pub(crate) fn listed(&self) -> String {
        let suffix = if self.has_wildcard { " (wildcard)" } else { "" };
        format!("{}{suffix}", self.prefix())
    }
}

/// Returns the parts of `path` between slashes. Slashes at its ends are ignored.
fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.trim_matches('/').split('/').filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router(routes: &[&str]) -> anyhow::Result<Router> {
        Router::new(routes.iter().map(|it| ((*it).to_owned(), format!("serves {it}"))).collect())
    }

    #[track_caller]
    fn check(routes: &[&str], path: &str, expected: Option<(&str, &str)>) {
        let router = router(routes).unwrap();
        let found = router.find(path);
        let found = found.as_ref().map(|it| (it.route.raw.as_str(), it.rest.as_str()));
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn a_wildcard_at_the_root_serves_everything() {
        for (path, rest) in [("/", "/"), ("/a", "/a"), ("/a/b/", "/a/b/")] {
            check(&["/..."], path, Some(("/...", rest)));
        }
    }

    #[test]
    fn the_exact_route_wins_else_the_longest() {
        let routes = ["/...", "/a/...", "/a", "/a/b/..."];
        check(&routes, "/a", Some(("/a", "")));
        check(&routes, "/a/", Some(("/a", "")));
        check(&routes, "/a/b", Some(("/a/b/...", "")));
        check(&routes, "/a/b/c", Some(("/a/b/...", "/c")));
        check(&routes, "/a/c", Some(("/a/...", "/c")));
        check(&routes, "/ab", Some(("/...", "/ab")));
        check(&["/a/..."], "/ab", None);
    }

    #[test]
    fn wildcards_in_the_middle_are_rejected() {
        assert!(router(&["/:id/notes"]).is_err());
    }
}
