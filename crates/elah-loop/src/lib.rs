//! Parts of a worker's event loop: its clock and timers, wake-ups from tasks and threads, watched descriptors, background work,
//! and the watchdog of its shutdown.

pub mod background;
pub mod clock;
pub mod descriptor_watch;
pub mod iteration_budget;
pub mod shutdown_watchdog;
pub mod task;
pub mod timers;
pub mod unix_socket;
pub mod wake;
