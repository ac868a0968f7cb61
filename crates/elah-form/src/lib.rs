//! Form parsers: query strings, URL-encoded and multipart bodies, percent escapes.

pub mod form;
pub mod multipart;
pub mod percent;
