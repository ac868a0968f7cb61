//! Streams changed at random: hyper reads what passes exactly as a plain, strict reader does.

use std::cell::RefCell;
use std::convert::Infallible;

use bytes::Bytes;
use elah_fuzz::{Mutator, Random};
use http_body_util::{BodyExt, Empty};
use hyper::service::service_fn;

use super::properties::Sent;
use super::*;

const SAMPLES: [&str; 8] = [
    "GET /a?b=c HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /length HTTP/1.1\r\nHost: a:80\r\nContent-Length: 5\r\n\r\nhelloPUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;a=\"b\"\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0A\r\n0123456789\r\n000\r\nX-Sum: y\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 45\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\nX-1: 2345\r\n\r\n",
    "GET http://a/b HTTP/1.1\r\nHost: a\r\n\r\nOPTIONS * HTTP/1.2\r\nHost: a\r\nX_Y: 1\r\nCookie: a=b; c=d\r\n\r\n",
    "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nPOST / HTTP/1.0\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nab",
    "\r\nGET / HTTP/1.1\r\nHost: [::1]:8080\r\nConnection: close\r\n\r\nGET /never HTTP/1.1\r\nHost: a\r\n\r\n",
];

const WORDS: [&str; 42] = [
    "\r\n",
    "\r\n\r\n",
    "\n",
    "\r",
    "\0",
    " ",
    "\t",
    "\u{b}",
    ":",
    ",",
    ";",
    "=",
    "\"",
    "0\r\n\r\n",
    "5\r\nhello\r\n",
    "1\r\na\r\n",
    "ffffffffffffffff",
    "-1",
    "+5",
    "0x5",
    "Content-Length: 5\r\n",
    "Content-Length: 0\r\n",
    "Content-Length: 18446744073709551616\r\n",
    "Content-Length:5\r\n",
    "Content_Length: 5\r\n",
    "content-length:\t5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked, identity\r\n",
    "Transfer-Encoding: gzip\r\n",
    "transfer-encoding: xchunked\r\n",
    "Transfer_Encoding: chunked\r\n",
    "Transfer-Encoding:\r\n chunked\r\n",
    "Host: b\r\n",
    "Expect: 100-continue\r\n",
    "Connection: Content-Length\r\n",
    "Connection: close\r\n",
    "Upgrade: h2c\r\n",
    "HTTP/1.0",
    "HTTP/1.1",
    "GET /in HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\n",
    "X: y\r\n",
];

/// A message as one reader understands it.
#[derive(Debug, PartialEq, Eq)]
struct Message {
    method: String,
    body: Vec<u8>,
}

/// Reads whole messages from accepted bytes in the plainest reading of RFC 9112. Also returns whether one of them ends the
/// connection.
fn strictly_read(mut stream: &[u8]) -> (Vec<Message>, bool) {
    let mut messages = Vec::new();
    let mut closes = false;
    while let Some(message) = take_message(&mut stream, &mut closes) {
        messages.push(message);
    }
    (messages, closes)
}

fn take_message(stream: &mut &[u8], closes: &mut bool) -> Option<Message> {
    let mut rest = *stream;
    let mut line = take_line(&mut rest)?;
    if line.is_empty() {
        line = take_line(&mut rest)?;
    }
    let method = String::from_utf8_lossy(line.split(|byte| *byte == b' ').next()?).into_owned();
    let mut ends_here = line.ends_with(b"/1.0");
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let line = take_line(&mut rest)?;
        if line.is_empty() {
            break;
        }
        let text = String::from_utf8_lossy(line).to_ascii_lowercase();
        let (name, value) = text.split_once(':')?;
        match name {
            "content-length" => length = value.trim().parse().expect("the guard lets digits through"),
            "transfer-encoding" => is_chunked = true,
            "connection" | "upgrade" => ends_here = true,
            _ => {}
        }
    }
    let body = if is_chunked { take_chunks(&mut rest)? } else { take(&mut rest, length)?.to_vec() };
    *stream = rest;
    *closes |= ends_here;
    Some(Message { method, body })
}

fn take_chunks(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = String::from_utf8_lossy(take_line(rest)?).into_owned();
        let size = line.split(|byte: char| !byte.is_ascii_hexdigit()).next()?;
        let size = usize::from_str_radix(size, 16).expect("the guard lets sizes through");
        if size == 0 {
            while !take_line(rest)?.is_empty() {}
            return Some(body);
        }
        body.extend_from_slice(take(rest, size)?);
        assert_eq!(take(rest, 2)?, b"\r\n");
    }
}

fn take<'s>(rest: &mut &'s [u8], bytes: usize) -> Option<&'s [u8]> {
    let (taken, left) = rest.split_at_checked(bytes)?;
    *rest = left;
    Some(taken)
}

fn take_line<'s>(rest: &mut &'s [u8]) -> Option<&'s [u8]> {
    let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
    let line = take(rest, end)?;
    take(rest, 2)?;
    Some(line)
}

/// The messages that bare hyper reads from `bytes`, without incomplete ones, and the bytes that it refuses.
fn read_by_hyper(runtime: &tokio::runtime::Runtime, bytes: &[u8]) -> (Vec<Message>, Option<String>) {
    let messages = RefCell::new(Vec::new());
    let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
        let messages = &messages;
        async move {
            let method = request.method().to_string();
            if let Ok(body) = request.into_body().collect().await {
                messages.borrow_mut().push(Message { method, body: body.to_bytes().to_vec() });
            }
            Ok::<_, Infallible>(hyper::Response::new(Empty::<Bytes>::new()))
        }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    let outcome = runtime.block_on(http.half_close(true).serve_connection(Sent(bytes), service));
    let fault = outcome.err().filter(|error| error.is_parse()).map(|error| format!("{error:?}"));
    (messages.take(), fault)
}

fn cuts(random: &mut Random, bytes: usize) -> Vec<usize> {
    let mut cuts: Vec<_> = (0..random.below(6)).map(|_| random.below(bytes + 1)).collect();
    cuts.sort_unstable();
    cuts
}

#[test]
fn fuzz_changed_streams() {
    let mutator = Mutator::new(&SAMPLES, &WORDS);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    elah_fuzz::run("changed streams", |random| {
        let stream = mutator.mutated(random);
        let verdict = judge(&stream, []);
        assert_eq!(judge(&stream, cuts(random, stream.len())), verdict, "{}", stream.escape_ascii());
        let shown = verdict.passed.escape_ascii();
        let (expected, closes) = strictly_read(&verdict.passed);
        assert!(expected.iter().all(|message| message.body.len() as u64 <= limits().body_bytes_max), "{shown}");
        let (found, fault) = read_by_hyper(&runtime, &verdict.passed);
        assert_eq!(fault, None, "{shown}");
        // hyper serves nothing after the end of a connection.
        let compared = if closes { found.len().min(expected.len()) } else { expected.len() };
        assert_eq!(found, expected[..compared], "{shown}");
        assert!(expected.len() as u64 <= verdict.messages && verdict.messages <= expected.len() as u64 + 1, "{shown}");
    });
}
