//! What `bare_hyper` answers to each path. `bench/ratios` compares every answer with Elah's before it measures.

use std::collections::HashMap;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, REFERRER_POLICY,
};
use hyper::{Request, Response, StatusCode};
use serde::Serialize;

/// What is answered late.
pub(crate) const SLEEP_PATH: &str = "/sleep";

/// The body of `/json`, built anew for every request.
#[derive(Serialize)]
struct Item {
    id: u32,
    title: &'static str,
    done: bool,
    tags: [&'static str; 2],
}

/// The answers that need preparation.
#[derive(Debug)]
pub(crate) struct Answers {
    links: HashMap<String, HeaderValue>,
    item: Bytes,
    board: Bytes,
}

impl Answers {
    /// Prepares the redirects of `links`, lines of code, tab and target, an item of `item_bytes`, and what is answered below
    /// `/leaderboards/`.
    ///
    /// # Errors
    /// A sentence that names the line which is not of that form.
    pub(crate) fn new(links: &str, item_bytes: usize, board_bytes: usize) -> Result<Self, String> {
        let links = links
            .lines()
            .map(|line| {
                let (code, target) = line.split_once('\t').ok_or_else(|| format!("{line:?} has no tab"))?;
                let target = HeaderValue::from_str(target).map_err(|error| format!("{target:?}: {error}"))?;
                Ok((code.to_owned(), target))
            })
            .collect::<Result<_, String>>()?;
        Ok(Self { links, item: vec![b' '; item_bytes].into(), board: vec![b' '; board_bytes].into() })
    }

    /// The answer to `request`.
    pub(crate) fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        match request.uri().path() {
            "/hello" => typed("text/plain", Bytes::from_static(b"hello world")),
            "/json" => {
                let item = Item { id: 42, title: "hello world", done: false, tags: ["ruby", "rust"] };
                typed("application/json", serde_json::to_vec(&item).expect("strings and numbers always serialise").into())
            }
            "/items/random" => item(self.item.clone()),
            SLEEP_PATH => typed("text/plain", Bytes::from_static(b"slept")),
            "/stats" | "/stats/batch" => recorded(),
            "/rack" => typed("text/plain", Bytes::from_static(b"hello world")),
            path if path.starts_with("/leaderboards/") => typed("application/json", self.board.clone()),
            path => match self.links.get(&path[1..]) {
                Some(target) => redirect(target.clone()),
                None => status(StatusCode::NOT_FOUND),
            },
        }
    }
}

fn typed(content_type: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// What apps/stats answers when it has taken an event. Nothing is recorded here.
fn recorded() -> Response<Full<Bytes>> {
    let mut response = typed("application/json", Bytes::from_static(b"{\"durability\":\"memory\"}"));
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

fn item(document: Bytes) -> Response<Full<Bytes>> {
    let mut response = typed("application/json", document);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn redirect(target: HeaderValue) -> Response<Full<Bytes>> {
    let mut response = status(StatusCode::FOUND);
    let headers = response.headers_mut();
    headers.insert(LOCATION, target);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, max-age=0"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("strict-origin-when-cross-origin"));
    headers.insert(HeaderName::from_static("x-robots-tag"), HeaderValue::from_static("noindex"));
    response
}

fn status(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}
