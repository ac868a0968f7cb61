//! Ranked sets from outside: a comparison with a model under random operations, sets that grow and shrink through all heights of
//! the tree, pages while scores move, sets in a store, members as JSON, and the bounds of names, scores and memory.

mod ranked_set {
    pub mod bounds;
    pub mod fuzz;
    pub mod growth;
    pub mod json;
    pub mod model;
    pub mod pages;
    pub mod properties;
    pub mod stored;
}
