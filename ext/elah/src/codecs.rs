//! JSON, forms, multipart bodies and permuted numbers.

pub(crate) mod form;
pub(crate) mod json_items;
pub(crate) mod json_parser;
pub(crate) mod json_pluck;
pub(crate) mod json_writer;
pub(crate) mod multipart;
pub(crate) mod permutation;
