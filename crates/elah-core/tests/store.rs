//! The store from outside: a comparison with a model under random operations, transactions that must serialise, a store that
//! fills up, and files that are not a store.

mod store {
    pub mod disk_full;
    pub mod fence;
    pub mod foreign;
    pub mod introduced;
    pub mod model;
    pub mod serialisable;
    pub mod support;
}
