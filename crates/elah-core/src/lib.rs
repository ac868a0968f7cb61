//! The part of Elah that knows no Ruby: listeners, connections, HTTP, router, limits and the embedded store.

mod guard;
pub mod percent;
pub mod router;
pub mod wake;
