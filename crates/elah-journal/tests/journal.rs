//! A sink's journal from outside: openings after a crash or disk damage, and random changes of files.

mod journal {
    pub mod damage;
    pub mod fuzz;
    pub mod support;
}
