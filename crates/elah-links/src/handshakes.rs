//! The connections that have not been greeted yet. They are bounded: a further one takes the place of the oldest.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::rc::Rc;

use tokio::task::{AbortHandle, spawn_local};

/// An ordinary handshake takes milliseconds, so an old one among so many is that of a stranger who sends nothing.
const HANDSHAKES_MAX: usize = 64;

#[derive(Default)]
pub(crate) struct Handshakes {
    open: RefCell<VecDeque<(u64, AbortHandle)>>,
    next_number: Cell<u64>,
}

impl Handshakes {
    /// Runs a handshake, and then what it returns.
    pub(crate) fn run<Next: Future<Output = ()>>(self: &Rc<Self>, handshake: impl Future<Output = Option<Next>> + 'static) {
        let number = self.next_number.get();
        self.next_number.set(number + 1);
        let mut open = self.open.borrow_mut();
        if open.len() >= HANDSHAKES_MAX
            && let Some((_, oldest)) = open.pop_front()
        {
            oldest.abort();
        }
        let handshakes = Rc::clone(self);
        let task = spawn_local(async move {
            let next = handshake.await;
            handshakes.open.borrow_mut().retain(|(open, _)| *open != number);
            if let Some(next) = next {
                next.await;
            }
        });
        open.push_back((number, task.abort_handle()));
    }

    /// Ends all.
    pub(crate) fn abort(&self) {
        self.open.borrow_mut().drain(..).for_each(|(_, handshake)| handshake.abort());
    }
}
