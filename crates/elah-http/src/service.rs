//! The path of a request from hyper to the worker, and of its response back.

use std::cell::{Cell, OnceCell, RefCell};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Method;
use http::header::{CONNECTION, HeaderValue};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::Service;

use crate::admission::RequestId;
use crate::connection_state::ConnectionState;
use crate::exchange::Exchange;
use crate::problem::Problem;
use crate::reply::{Reply, ReplySlot};
use crate::request_body::{self, RequestBody};
use crate::response::ResponseBody;
use crate::router::{Match, Resolution};
use crate::shared::{Cancelled, Shared};

/// What hyper calls for each request of a connection.
pub(crate) struct ExchangeService {
    shared: Rc<Shared>,
    connection: Rc<ConnectionState>,
}

impl ExchangeService {
    pub(crate) fn new(shared: Rc<Shared>, connection: Rc<ConnectionState>) -> Self {
        ExchangeService { shared, connection }
    }
}

type Collecting = Pin<Box<dyn Future<Output = Result<RequestBody, Problem>>>>;

/// The future response: it reads the body first, then waits for the application.
pub(crate) struct ExchangeFuture {
    shared: Rc<Shared>,
    connection: Rc<ConnectionState>,
    is_http_1_0: bool,
    stage: Stage,
}

enum Stage {
    Collecting { parts: Box<http::request::Parts>, route: Option<Match>, body: Collecting },
    Waiting { id: RequestId, exchange: Rc<Exchange> },
    Refused(Problem),
    Over,
}

impl Service<http::Request<Incoming>> for ExchangeService {
    type Response = http::Response<ResponseBody>;
    type Error = Infallible;
    type Future = ExchangeFuture;

    fn call(&self, request: http::Request<Incoming>) -> ExchangeFuture {
        self.connection.request_began();
        let (parts, body) = request.into_parts();
        let is_http_1_0 = parts.version == http::Version::HTTP_10;
        let stage = match self.shared.route_cache.resolve(&self.shared.router, &parts.method, parts.uri.path()) {
            Resolution::BadPath(cause) => Stage::Refused(Problem::new(400, "invalid_path", cause.to_string())),
            Resolution::Route(route) => self.begin(parts, body, Some(route)),
            Resolution::MethodNotAllowed(_) | Resolution::NotFound => self.begin(parts, body, None),
        };
        ExchangeFuture { shared: Rc::clone(&self.shared), connection: Rc::clone(&self.connection), is_http_1_0, stage }
    }
}

impl ExchangeService {
    fn begin(&self, parts: http::request::Parts, body: Incoming, route: Option<Match>) -> Stage {
        if body.is_end_stream() {
            return enter(&self.shared, &self.connection, parts, RequestBody::Empty, route);
        }
        if route.as_ref().is_some_and(|route| self.shared.streams_body(route.id)) {
            return enter(
                &self.shared,
                &self.connection,
                parts,
                RequestBody::Streamed { unread: Bytes::new(), rest: body },
                route,
            );
        }
        let body = Box::pin(request_body::collect(body, self.shared.limits.body_memory_bytes));
        Stage::Collecting { parts: Box::new(parts), route, body }
    }
}

/// Passes the request to the worker, which may refuse it.
fn enter(
    shared: &Rc<Shared>,
    connection: &Rc<ConnectionState>,
    parts: http::request::Parts,
    body: RequestBody,
    route: Option<Match>,
) -> Stage {
    let exchange = Rc::new(Exchange {
        parts,
        is_body_unread: Cell::new(matches!(body, RequestBody::Streamed { .. })),
        body: RefCell::new(body),
        body_reader: tokio::sync::Mutex::const_new(()),
        route,
        other_route: OnceCell::new(),
        connection: Rc::clone(connection),
        reply: ReplySlot::new(),
        deadline_ms: Cell::new(0),
        stream: RefCell::new(None),
        request_id: OnceCell::new(),
    });
    match shared.admit(&exchange) {
        Ok(id) => Stage::Waiting { id, exchange },
        Err(problem) => Stage::Refused(problem),
    }
}

impl Future for ExchangeFuture {
    type Output = Result<http::Response<ResponseBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            let response = match &mut this.stage {
                Stage::Collecting { body, .. } => {
                    let collected = ready!(body.as_mut().poll(context));
                    let Stage::Collecting { parts, route, .. } = std::mem::replace(&mut this.stage, Stage::Over) else {
                        continue;
                    };
                    this.stage = match collected {
                        Ok(body) => enter(&this.shared, &this.connection, *parts, body, route),
                        // The guard knows better than hyper why the body ended.
                        Err(problem) => Stage::Refused(this.connection.take_refusal().unwrap_or(problem)),
                    };
                    continue;
                }
                Stage::Waiting { exchange, .. } => match exchange.reply.take() {
                    Reply::Response(mut response) => {
                        if exchange.parts.method != Method::HEAD {
                            response.correct_length();
                        }
                        if exchange.is_body_unread.get() {
                            response.headers.insert(CONNECTION, HeaderValue::from_static("close"));
                        }
                        response
                    }
                    // Closed slots belong to connections that end or were handed over.
                    Reply::NotYet | Reply::Closed => return Poll::Pending,
                },
                Stage::Refused(problem) => {
                    this.shared.metrics.refused();
                    let mut response = this.shared.problem_response(None, problem);
                    if closes_connection(problem.status) || this.connection.is_refused() {
                        response.headers.insert(CONNECTION, HeaderValue::from_static("close"));
                    }
                    response
                }
                Stage::Over => return Poll::Pending,
            };
            this.stage = Stage::Over;
            this.connection.response_sent();
            let mut response = response.into_http();
            if this.shared.is_draining() && !this.connection.has_more_requests() {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            if this.is_http_1_0 {
                set_close_for_http_1_0(&mut response);
            }
            return Poll::Ready(Ok(response));
        }
    }
}

/// A client of HTTP/1.0 recognises the end of a body of unknown length by the end of the connection.
fn set_close_for_http_1_0(response: &mut http::Response<ResponseBody>) {
    if response.body().size_hint().exact().is_none() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if response.headers().contains_key(CONNECTION) {
        // Otherwise hyper would add `keep-alive` for a client that asks for it.
        *response.version_mut() = http::Version::HTTP_10;
    }
}

/// After these statuses the rest of the stream cannot be trusted or is not wanted.
fn closes_connection(status: u16) -> bool {
    matches!(status, 400 | 408 | 413 | 507)
}

impl Drop for ExchangeFuture {
    fn drop(&mut self) {
        if let Stage::Waiting { id, exchange } = &self.stage {
            let was_waiting = exchange.reply.is_waiting();
            exchange.reply.close();
            if was_waiting {
                self.shared.give_up(*id, Cancelled::Gone);
            }
        }
    }
}
