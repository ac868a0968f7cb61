//! A request as the application gets it, and the place of its answer.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use crate::connection_state::ConnectionState;
use crate::reply::ReplySlot;
use crate::request_body::RequestBody;
use crate::response::Response;
use crate::response_stream::StreamState;
use crate::router::Match;

/// A request as the application gets it, and the place of its answer. The worker and the connection share it.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) parts: http::request::Parts,
    pub(crate) body: RefCell<RequestBody>,
    /// Who reads a streamed body: one at a time, since a body wakes the last reader alone.
    pub(crate) body_reader: tokio::sync::Mutex<()>,
    /// Bytes of the body may still be to come: after an answer the connection closes, as its next request cannot be found.
    pub(crate) is_body_unread: Cell<bool>,
    pub(crate) route: Option<Match>,
    pub(crate) connection: Rc<ConnectionState>,
    pub(crate) reply: ReplySlot,
    /// When it is answered 504, in the worker's milliseconds; 0 before it is admitted and once its answer has begun.
    pub(crate) deadline_ms: Cell<u64>,
    /// The streamed answer that the handler has begun, and its key with the worker.
    pub(crate) stream: RefCell<Option<(usize, Rc<StreamState>)>>,
    /// The id under which the log knows the request, once somebody has asked for it.
    pub(crate) request_id: OnceCell<String>,
}

impl Exchange {
    /// Gives the answer to the connection. False when there is one already or the client has gone.
    pub(crate) fn answer(&self, response: Response) -> bool {
        self.deadline_ms.set(0);
        let taken = self.reply.put(response);
        if taken {
            self.connection.wake();
        }
        taken
    }
}
