//! A runtime on a thread of its own, for those who wait where no worker's loop runs: a script, a console, another Ruby thread.

use std::future::{Future, pending};
use std::io;

use tokio::runtime::{Builder, Handle};

use crate::task::Task;

/// Runs futures on its own thread until the process ends. It does not survive a fork: start another one in the child, and
/// forget the old one, because its descriptors are shared with the parent's.
pub struct Background {
    runtime: Handle,
}

impl Background {
    /// Starts the thread.
    pub fn start() -> io::Result<Background> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let handle = runtime.handle().clone();
        std::thread::Builder::new().name("elah-background".to_owned()).spawn(move || runtime.block_on(pending::<()>()))?;
        Ok(Background { runtime: handle })
    }

    /// Runs `work` on the thread.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> Task {
        Task::new(self.runtime.spawn(work).abort_handle())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn work_runs_while_the_caller_goes_on() {
        let background = Background::start().unwrap();
        let (sender, receiver) = mpsc::channel();
        background.spawn(async move { sender.send(std::thread::current().name().map(str::to_owned)).unwrap() });
        assert_eq!(receiver.recv().unwrap().as_deref(), Some("elah-background"));
    }

    #[test]
    fn aborted_work_is_dropped() {
        let background = Background::start().unwrap();
        let (sender, receiver) = mpsc::channel::<()>();
        let task = background.spawn(async move {
            let _sender = sender;
            pending::<()>().await;
        });
        task.abort();
        assert!(receiver.recv().is_err(), "the future and its sender must be gone");
    }
}
