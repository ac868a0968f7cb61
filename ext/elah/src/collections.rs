//! Native collections: ranked sets and lease pools.

pub(crate) mod lease_pool;
pub(crate) mod ranked_set;
