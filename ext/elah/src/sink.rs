//! A sink's journal, and the conversion of requests and bodies into events without intermediate Ruby objects.

mod errors;
pub(crate) mod journal;
pub(crate) mod name_counts;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod request_text;
