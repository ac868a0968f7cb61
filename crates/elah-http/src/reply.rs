//! The one-shot slot in which a response waits for its connection. Both ends live on the worker's thread. So it needs no lock, no
//! atomics, and no waker of its own, because the connection's task polls it.

use std::cell::RefCell;

use crate::response::Response;

#[derive(Debug)]
pub(crate) struct ReplySlot {
    state: RefCell<State>,
}

#[derive(Debug)]
enum State {
    Waiting,
    Ready(Response),
    /// The response was taken, or will never be taken.
    Closed,
}

/// What the connection finds in the slot.
pub(crate) enum Reply {
    NotYet,
    Response(Response),
    Closed,
}

impl ReplySlot {
    pub(crate) fn new() -> Self {
        ReplySlot { state: RefCell::new(State::Waiting) }
    }

    /// Stores the response. Does nothing and returns false if there is one already or the client has disconnected.
    pub(crate) fn put(&self, response: Response) -> bool {
        let mut state = self.state.borrow_mut();
        let waits = matches!(&*state, State::Waiting);
        if waits {
            *state = State::Ready(response);
        }
        waits
    }

    pub(crate) fn is_waiting(&self) -> bool {
        matches!(&*self.state.borrow(), State::Waiting)
    }

    /// Closes the slot: the connection has ended, or belongs to the application now.
    pub(crate) fn close(&self) {
        *self.state.borrow_mut() = State::Closed;
    }

    pub(crate) fn take(&self) -> Reply {
        let mut state = self.state.borrow_mut();
        match &*state {
            State::Waiting => Reply::NotYet,
            State::Closed => Reply::Closed,
            State::Ready(_) => match std::mem::replace(&mut *state, State::Closed) {
                State::Ready(response) => Reply::Response(response),
                State::Waiting | State::Closed => Reply::Closed,
            },
        }
    }
}
