//! State shared by both directions of a worker's links: limits, notification, and complaints about peers.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::task::{Context, Waker};

use super::Bounds;
use elah_loop::wake::{LocalWaker, WaitId};

/// Complaints kept for the log; further ones are dropped.
const COMPLAINTS_MAX: usize = 16;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) bounds: Bounds,
    /// The user whose processes may connect.
    pub(crate) owner: u32,
    pub(crate) waker: LocalWaker,
    /// Ended on a notification.
    expecting: Cell<Option<WaitId>>,
    complaints: RefCell<VecDeque<String>>,
    /// The task that accepts and opens connections.
    porter: RefCell<Option<Waker>>,
    is_closed: Cell<bool>,
}

impl Shared {
    pub(crate) fn new(bounds: Bounds, waker: LocalWaker, owner: u32) -> Self {
        Shared {
            bounds,
            owner,
            waker,
            expecting: Cell::new(None),
            complaints: RefCell::default(),
            porter: RefCell::default(),
            is_closed: Cell::new(false),
        }
    }

    pub(crate) fn expect(&self, wait: WaitId) {
        self.expecting.set(Some(wait));
        if !self.complaints.borrow().is_empty() {
            self.notify();
        }
    }

    /// Ends the wait of `expect`.
    pub(crate) fn notify(&self) {
        if let Some(wait) = self.expecting.take() {
            self.waker.end_wait(wait);
        }
    }

    pub(crate) fn complain(&self, complaint: String) {
        let mut complaints = self.complaints.borrow_mut();
        if complaints.len() < COMPLAINTS_MAX {
            complaints.push_back(complaint);
        }
        drop(complaints);
        self.notify();
    }

    pub(crate) fn next_complaint(&self) -> Option<String> {
        self.complaints.borrow_mut().pop_front()
    }

    pub(crate) fn register_porter(&self, context: &Context<'_>) {
        *self.porter.borrow_mut() = Some(context.waker().clone());
    }

    pub(crate) fn wake_porter(&self) {
        if let Some(porter) = self.porter.borrow_mut().take() {
            porter.wake();
        }
    }

    pub(crate) fn close(&self) {
        self.is_closed.set(true);
        self.wake_porter();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.get()
    }
}
