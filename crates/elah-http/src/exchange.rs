//! A request as the application sees it, and the slot for its response.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use crate::connection_state::ConnectionState;
use crate::reply::ReplySlot;
use crate::request_body::RequestBody;
use crate::response::Response;
use crate::response_stream::StreamState;
use crate::router::Match;

/// A request as the application sees it, and the slot for its response. Worker and connection share it.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) parts: http::request::Parts,
    pub(crate) body: RefCell<RequestBody>,
    /// Locked by the reader of a streamed body. There is one at a time, because a body wakes its last reader only.
    pub(crate) body_reader: tokio::sync::Mutex<()>,
    /// Bytes of the body may still arrive. Then the connection closes after the response, because the start of the next request
    /// is unknown.
    pub(crate) is_body_unread: Cell<bool>,
    pub(crate) route: Option<Match>,
    /// The route that the application has chosen instead.
    pub(crate) other_route: OnceCell<Box<Match>>,
    pub(crate) connection: Rc<ConnectionState>,
    pub(crate) reply: ReplySlot,
    /// The time of the 504, in the worker's milliseconds; 0 before the request is admitted and after its response has begun.
    pub(crate) deadline_ms: Cell<u64>,
    /// The streamed response that the handler has begun, and its key in the worker.
    pub(crate) stream: RefCell<Option<(usize, Rc<StreamState>)>>,
    /// The ID of the request in the log, once somebody has asked for it.
    pub(crate) request_id: OnceCell<String>,
}

impl Exchange {
    pub(crate) fn route(&self) -> Option<&Match> {
        self.other_route.get().map(|route| &**route).or(self.route.as_ref())
    }

    /// Passes the response to the connection. False if there is one already or the client has disconnected.
    pub(crate) fn respond(&self, response: Response) -> bool {
        self.deadline_ms.set(0);
        let taken = self.reply.put(response);
        if taken {
            self.connection.wake();
        }
        taken
    }
}
