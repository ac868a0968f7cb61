//! The Rack environment of a request, and the response of a Rack app.

pub(crate) mod env;
pub(crate) mod header_keys;
pub(crate) mod response;
pub(crate) mod state;
