//! A sink's journal from outside: what an opening makes of files that a crash has left or a disk has damaged, and random changes of files.

mod journal {
    pub mod damage;
    pub mod fuzz;
    pub mod support;
}
