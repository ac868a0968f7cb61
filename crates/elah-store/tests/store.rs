//! The store from outside: comparisons with models under random operations, transactions that must serialise, a store that
//! fills up, and files that are not a store.

mod store {
    pub mod compact;
    pub mod disk_full;
    pub mod export;
    pub mod fence;
    pub mod foreign;
    pub mod fuzz;
    pub mod gathered;
    pub mod introduced;
    pub mod model;
    pub mod openings;
    pub mod replaced;
    pub mod serialisable;
    pub mod snapshot;
    pub mod support;
    pub mod unwritten_pages;
}
