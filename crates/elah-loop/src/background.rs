//! A runtime on its own thread, for waits outside a worker's loop: in a script, a console or another Ruby thread.

use std::future::{Future, pending};
use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};

use crate::task::Task;

/// How long a main thread without a loop waits at most before it looks for signals. Ruby 3.1 hands signals on in a thread that waits for
/// Ruby. If the last such thread has ended since the main thread began to wait for this crate, nobody does.
pub const SIGNALS_SEEN_AFTER: Duration = Duration::from_millis(100);

/// Runs futures on its own thread until the process ends. It does not survive a fork. In the child, start another one and forget
/// the old one, because the parent shares its descriptors.
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
