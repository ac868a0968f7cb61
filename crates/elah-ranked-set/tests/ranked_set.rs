//! Ranked sets from outside: comparison with a model under random operations, growth and shrinking through all heights of the
//! tree, pages while scores move, sets in a store, JSON, and the limits of names, scores and memory.

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
