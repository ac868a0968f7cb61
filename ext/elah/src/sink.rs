//! A sink's journal, and what becomes an event without Ruby objects in between.

pub(crate) mod journal;
pub(crate) mod name_counts;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod request_text;
