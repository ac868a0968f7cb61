//! The one-shot slot in which an answer waits for the connection that asked. Both ends live on the worker's thread: no lock, no
//! atomics, and no waker of its own, as the connection's task takes the answer.

use std::cell::RefCell;

use crate::response::Response;

#[derive(Debug)]
pub(crate) struct ReplySlot {
    state: RefCell<State>,
}

#[derive(Debug)]
enum State {
    Waiting,
    Answered(Response),
    /// The answer was taken, or nobody will ever take one.
    Closed,
}

/// What the connection finds in the slot.
pub(crate) enum Reply {
    NotYet,
    Answer(Response),
    Closed,
}

impl ReplySlot {
    pub(crate) fn new() -> Self {
        ReplySlot { state: RefCell::new(State::Waiting) }
    }

    /// Leaves the answer. False, and nothing happens, when there is one already or the client has gone.
    pub(crate) fn put(&self, response: Response) -> bool {
        let mut state = self.state.borrow_mut();
        let waits = matches!(&*state, State::Waiting);
        if waits {
            *state = State::Answered(response);
        }
        waits
    }

    pub(crate) fn is_waiting(&self) -> bool {
        matches!(&*self.state.borrow(), State::Waiting)
    }

    /// Nobody will take an answer: the connection is gone, or belongs to the application now.
    pub(crate) fn close(&self) {
        *self.state.borrow_mut() = State::Closed;
    }

    pub(crate) fn take(&self) -> Reply {
        let mut state = self.state.borrow_mut();
        match &*state {
            State::Waiting => Reply::NotYet,
            State::Closed => Reply::Closed,
            State::Answered(_) => match std::mem::replace(&mut *state, State::Closed) {
                State::Answered(response) => Reply::Answer(response),
                State::Waiting | State::Closed => Reply::Closed,
            },
        }
    }
}
