//! Properties of every byte stream: the split into reads does not matter, and hyper sees the messages that the guard saw.

use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::rt::ReadBufCursor;
use hyper::service::service_fn;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;

use super::*;

/// Parts of heads and bodies, plain ones first, chosen so that parsers may disagree about them.
const METHODS: [&str; 6] = ["GET", "POST", "OPTIONS", "M-SEARCH", "get", "CONNECT"];
const TARGETS: [&str; 10] = ["/", "/a?b=c", "//a/../%zz", "/?{\"a\"}", "http://a/", "*", "a:80", "/a#b", "/\u{e9}", "/a b"];
const VERSIONS: [&str; 5] = ["HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/1.2", "HTTP/2.0"];
const HEADERS: [&str; 34] = [
    "Host: a",
    "Host:a:80",
    "Accept: */*",
    "X-Long: 0123456789 \t caf\u{e9}",
    "X_Y: 1",
    "X-Y: 2",
    "Empty:",
    "Expect: 100-continue",
    "Content-Length: 0",
    "Content-Length: 5",
    "Content-Length: 005",
    "Transfer-Encoding: chunked",
    "transfer-encoding: Chunked ",
    "Connection: keep-alive",
    "Upgrade: h2c",
    "Host: ###",
    "Content-Length: +5",
    "Content-Length: 5, 5",
    "Content-Length: 2000",
    "Content-Length:\t5",
    "Content-Length : 5",
    "Content_Length: 5",
    "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding:\u{b}chunked",
    "Transfer-Encoding: x\r\n chunked",
    "Transfer-Encoding: identity",
    "Expect: 1",
    " folded",
    "no colon",
    ": a",
    "X: a\0",
    "X: \r",
    "X: \u{7f}",
];
const BODIES: [&str; 15] = [
    "",
    "hello",
    "5\r\nhello\r\n0\r\n\r\n",
    "2;a=\"b\"\r\nhe\r\n003\r\nllo\r\n0\r\nX: y\r\n\r\n",
    "0\r\n\r\n",
    "\r\n",
    "5 ; a\r\nhello\r\n0;\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "5\nhello\n0\n\n",
    "+5\r\nhello\r\n0\r\n\r\n",
    "5\r\nhelloX\r\n0\r\n\r\n",
    "0\r\nContent-Length: 5\r\n\r\n",
    "ffffffffffffffff\r\n",
    "5;\0\r\nhello\r\n0\r\n\r\n",
    "0\r\n",
];

/// A request that every parser reads in the same way.
fn plain_message() -> impl Strategy<Value = String> {
    let headers = vec(select(&HEADERS[2..5]), 0..4);
    let body = select(&[
        "\r\n",
        "Content-Length: 0\r\n\r\n",
        "Content-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n2;a=\"b\"\r\nhe\r\n003\r\nllo\r\n0\r\nX: y\r\n\r\n",
    ]);
    (select(&METHODS[..4]), select(&TARGETS[..4]), headers, body).prop_map(|(method, target, headers, body)| {
        let lines: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        format!("{method} {target} HTTP/1.1\r\nHost: a\r\n{lines}{body}")
    })
}

/// A request of arbitrary parts.
fn odd_message() -> impl Strategy<Value = String> {
    let line = (select(&METHODS[..]), select(&TARGETS[..]), select(&VERSIONS[..]));
    let line_end = prop_oneof![9 => Just("\r\n"), 1 => select(&["\n", "\r\r\n", "\r"][..])];
    let headers = vec(select(&HEADERS[..]), 0..5);
    (line, line_end, headers, select(&BODIES[..])).prop_map(|((method, target, version), line_end, headers, body)| {
        let lines: String = headers.iter().map(|header| format!("{header}{line_end}")).collect();
        format!("{method} {target} {version}\r\n{lines}\r\n{body}")
    })
}

/// Some messages in a row, with up to two bytes inserted, changed or removed.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![select(&b"\r\n \t:;,0a\0\x7f_-/*"[..]), any::<u8>()];
    let edit = (0..3, any::<Index>(), byte);
    let message = prop_oneof![4 => plain_message(), 1 => odd_message()];
    let edits = prop_oneof![3 => Just(Vec::new()), 1 => vec(edit, 1..3)];
    (vec(message, 1..4), edits).prop_map(|(messages, edits)| {
        let mut stream = messages.concat().into_bytes();
        for (kind, at, byte) in edits {
            let at = at.index(stream.len());
            match kind {
                0 => stream.insert(at, byte),
                1 => stream[at] = byte,
                _ => drop(stream.remove(at)),
            }
        }
        stream
    })
}

/// A client that has sent everything and reads nothing.
pub(super) struct Sent<'a>(pub(super) &'a [u8]);

impl hyper::rt::Read for Sent<'_> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, mut buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let (now, later) = self.0.split_at(self.0.len().min(buffer.remaining()));
        buffer.put_slice(now);
        self.0 = later;
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for Sent<'_> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Serves `bytes` with bare hyper. Returns the number of requests that it saw, and its error if it refused something.
fn served_by_hyper(bytes: &[u8]) -> (u64, Option<String>) {
    let requests = RefCell::new(0);
    let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
        *requests.borrow_mut() += 1;
        async move {
            // A truncated body is not a disagreement: its head has been counted.
            let _ = request.into_body().collect().await;
            Ok::<_, Infallible>(hyper::Response::new(Empty::<Bytes>::new()))
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut http = hyper::server::conn::http1::Builder::new();
    let outcome = runtime.block_on(http.half_close(true).serve_connection(Sent(bytes), service));
    let requests = *requests.borrow();
    (requests, outcome.err().filter(|error| error.is_parse()).map(|error| format!("{error:?}")))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    #[test]
    fn the_cut_into_reads_does_not_change_the_verdict(stream in stream(), cuts in vec(any::<Index>(), 0..6)) {
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len().max(1))).collect();
        cuts.sort_unstable();
        let whole = judge(&stream, []);
        prop_assert_eq!(&judge(&stream, cuts), &whole);
        prop_assert_eq!(&judge(&stream, 1..stream.len()), &whole);
    }

    #[test]
    fn hyper_sees_the_messages_that_passed(stream in stream()) {
        let verdict = judge(&stream, []);
        let passed = &verdict.passed[..];
        let (requests, fault) = served_by_hyper(passed);
        prop_assert_eq!(fault, None, "{}", passed.escape_ascii());
        // After a request of HTTP/1.0 hyper closes, so it does not serve later ones.
        let is_cut_short = requests > 0 && passed.windows(8).any(|window| window == b"HTTP/1.0");
        prop_assert!(requests == verdict.messages || is_cut_short, "{requests}: {}", passed.escape_ascii());
    }
}

/// The generator would prove nothing if it produced no accepted streams, or no refused ones.
#[test]
fn the_generated_streams_are_of_both_kinds() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let verdicts: Vec<_> = (0..1000)
        .map(|_| stream().new_tree(&mut runner).expect("the strategy filters nothing").current())
        .map(|stream| judge(&stream, []))
        .collect();
    let accepted = verdicts.iter().filter(|verdict| verdict.rejection.is_none()).count();
    let pipelined = verdicts.iter().filter(|verdict| verdict.messages > 1).count();
    assert!((200..800).contains(&accepted), "{accepted} of 1000 streams are accepted");
    assert!(pipelined > 150, "{pipelined} of 1000 streams pass more than one message");
}
