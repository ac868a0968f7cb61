//! The one-shot slot in which an answer waits for the connection that asked. Both ends live on the worker's thread: no lock, no atomics.

use std::cell::RefCell;
use std::task::{Context, Poll, Waker};

use crate::response::Response;

#[derive(Debug)]
pub(crate) struct ReplySlot {
    state: RefCell<State>,
}

#[derive(Debug)]
enum State {
    Waiting(Option<Waker>),
    Answered(Box<Response>),
    /// The answer was taken, or nobody will ever take one.
    Closed,
}

impl ReplySlot {
    pub(crate) fn new() -> Self {
        ReplySlot { state: RefCell::new(State::Waiting(None)) }
    }

    /// Gives the answer. False, and nothing happens, when there is one already or the client has gone.
    pub(crate) fn send(&self, response: Response) -> bool {
        let mut state = self.state.borrow_mut();
        let State::Waiting(waker) = &mut *state else { return false };
        let waker = waker.take();
        *state = State::Answered(Box::new(response));
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    pub(crate) fn is_waiting(&self) -> bool {
        matches!(&*self.state.borrow(), State::Waiting(_))
    }

    /// The connection went away before the answer.
    pub(crate) fn close(&self) {
        *self.state.borrow_mut() = State::Closed;
    }

    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Response>> {
        let mut state = self.state.borrow_mut();
        match std::mem::replace(&mut *state, State::Closed) {
            State::Answered(response) => Poll::Ready(Some(*response)),
            State::Closed => Poll::Ready(None),
            State::Waiting(_) => {
                *state = State::Waiting(Some(context.waker().clone()));
                Poll::Pending
            }
        }
    }
}
