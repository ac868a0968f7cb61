//! A cache of the routes of paths without parameters. A search through the tree costs five times as much as a look-up.

use std::cell::RefCell;
use std::collections::HashMap;

use http::Method;

use crate::router::{Match, Resolution, Router};

/// Maximum number of entries. Only paths with a route are cached, but one route matches any number of slashes.
const ENTRIES_MAX: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct RouteCache {
    gets: RefCell<HashMap<Box<str>, Match>>,
}

impl RouteCache {
    /// Like `Router::resolve`, but faster for a GET of a known path.
    pub(crate) fn resolve<'r>(&self, router: &'r Router, method: &Method, path: &str) -> Resolution<'r> {
        if *method != Method::GET {
            return router.resolve(method.as_str(), path);
        }
        if let Some(found) = self.gets.borrow().get(path) {
            return Resolution::Route(found.clone());
        }
        let resolution = router.resolve(method.as_str(), path);
        if let Resolution::Route(found) = &resolution
            && found.is_without_parameters()
            && self.gets.borrow().len() < ENTRIES_MAX
        {
            self.gets.borrow_mut().insert(path.into(), found.clone());
        }
        resolution
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::Requirements;

    fn id(resolution: &Resolution<'_>) -> Option<u32> {
        match resolution {
            Resolution::Route(found) => Some(found.id),
            _ => None,
        }
    }

    #[test]
    fn resolves_as_the_router_does_the_first_time_and_later() {
        let mut router = Router::new();
        for (method, pattern, number) in [("GET", "/links", 1), ("POST", "/links", 2), ("GET", "/links/:code", 3)] {
            router.add(method, pattern, number, &Requirements::new()).expect("a pattern");
        }
        router.mount("/blog", 4).expect("a prefix");
        let cache = RouteCache::default();
        for _ in 0..2 {
            assert_eq!(id(&cache.resolve(&router, &Method::GET, "/links")), Some(1));
            assert_eq!(id(&cache.resolve(&router, &Method::POST, "/links")), Some(2));
            assert_eq!(id(&cache.resolve(&router, &Method::GET, "/links/a")), Some(3));
            assert_eq!(id(&cache.resolve(&router, &Method::GET, "/blog/2011")), Some(4));
            assert_eq!(cache.resolve(&router, &Method::GET, "/none"), Resolution::NotFound);
            assert!(matches!(cache.resolve(&router, &Method::PUT, "/links"), Resolution::MethodNotAllowed(_)));
        }
        assert_eq!(cache.gets.borrow().len(), 1, "only a path without parameters is kept");
    }

    #[test]
    fn is_bounded_whatever_clients_write() {
        let mut router = Router::new();
        router.add("GET", "/links", 1, &Requirements::new()).expect("a pattern");
        let cache = RouteCache::default();
        for slashes in 1..2000 {
            assert_eq!(id(&cache.resolve(&router, &Method::GET, &format!("{}links", "/".repeat(slashes)))), Some(1));
        }
        assert_eq!(cache.gets.borrow().len(), ENTRIES_MAX);
    }
}
