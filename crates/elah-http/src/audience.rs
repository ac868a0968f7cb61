//! The listeners of a broadcast: endless responses that need no fiber and share the bytes of every piece.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bytes::Bytes;

use crate::response_stream::StreamState;

/// The listeners of one broadcast on this worker.
#[derive(Debug)]
pub(crate) struct Audience {
    listeners: RefCell<Vec<Rc<StreamState>>>,
    /// A listener with this many unread pieces misses further ones until it has read some.
    unread_max: usize,
    missed: Cell<u64>,
}

/// The result of sending a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pushed {
    /// Number of connected listeners.
    pub listeners: usize,
    /// Pieces that listeners have missed since the audience was created, because they read too slowly.
    pub missed: u64,
}

impl Audience {
    pub(crate) fn new(unread_max: usize) -> Self {
        Audience { listeners: RefCell::default(), unread_max, missed: Cell::new(0) }
    }

    pub(crate) fn join(&self, listener: Rc<StreamState>) {
        self.listeners.borrow_mut().push(listener);
    }

    /// Sends `piece` to all listeners with room for it, and removes disconnected ones.
    pub(crate) fn push(&self, piece: &Bytes) -> Pushed {
        let mut listeners = self.listeners.borrow_mut();
        listeners.retain(|listener| {
            if listener.pieces() >= self.unread_max {
                self.missed.set(self.missed.get() + 1);
                return !listener.is_reader_gone();
            }
            listener.push(piece.clone())
        });
        Pushed { listeners: listeners.len(), missed: self.missed.get() }
    }

    /// Ends the responses of all listeners.
    pub(crate) fn leave(&self) {
        for listener in self.listeners.take() {
            listener.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;
    use elah_loop::wake::LocalWaker;

    fn listener() -> Rc<StreamState> {
        Rc::new(StreamState::new(1024, LocalWaker::default()))
    }

    fn read(listener: &StreamState) -> Option<Bytes> {
        match listener.poll_chunk(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(Ok(piece))) => Some(piece),
            _ => None,
        }
    }

    #[test]
    fn all_get_the_same_bytes() {
        let audience = Audience::new(2);
        let listeners = [listener(), listener()];
        listeners.iter().for_each(|listener| audience.join(Rc::clone(listener)));
        let piece = Bytes::from_static(b"tick");
        assert_eq!(audience.push(&piece), Pushed { listeners: 2, missed: 0 });
        for listener in &listeners {
            assert_eq!(read(listener).unwrap().as_ptr(), piece.as_ptr());
        }
    }

    #[test]
    fn who_does_not_read_misses_pieces_and_who_has_gone_is_forgotten() {
        let audience = Audience::new(2);
        let (slow, gone) = (listener(), listener());
        audience.join(Rc::clone(&slow));
        audience.join(Rc::clone(&gone));
        gone.reader_left();
        for number in 0..5_u8 {
            audience.push(&Bytes::from(vec![number]));
        }
        assert_eq!(audience.push(&Bytes::from_static(b"x")), Pushed { listeners: 1, missed: 4 });
        assert_eq!([read(&slow), read(&slow), read(&slow)], [Some(vec![0].into()), Some(vec![1].into()), None]);
        audience.push(&Bytes::from_static(b"y"));
        assert_eq!(read(&slow), Some(Bytes::from_static(b"y")));
    }

    #[test]
    fn a_slow_listener_that_goes_is_forgotten_too() {
        let audience = Audience::new(1);
        let slow = listener();
        audience.join(Rc::clone(&slow));
        audience.push(&Bytes::from_static(b"1"));
        slow.reader_left();
        assert_eq!(audience.push(&Bytes::from_static(b"2")).listeners, 0);
    }
}
