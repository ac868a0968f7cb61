//! A response on its way from the application to hyper: status, headers and one of four kinds of body.

use std::fmt;
use std::fs::File;
use std::future::Future;
use std::io::{self, Read};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use http_body::{Body, Frame, SizeHint};
use hyper::ext::ReasonPhrase;

use crate::response_stream::StreamState;

/// Bytes read from a file at a time.
const FILE_CHUNK_BYTES: usize = 64 * 1024;

/// A longer body should be sent as a stream. Otherwise a second copy of it would wait for each slow client.
pub const LONG_BODY_BYTES: usize = 256 * 1024;

/// Headers that are checked once and may be sent many times.
#[derive(Debug, Clone, Default)]
pub struct Headers {
    map: HeaderMap,
}

/// An invalid header: its name or value has bytes that would end the line or the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidHeader {
    name: String,
    part: &'static str,
}

impl fmt::Display for InvalidHeader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "The {} of the response header {:?} has bytes that HTTP does not allow.", self.part, self.name)
    }
}

impl std::error::Error for InvalidHeader {}

impl Headers {
    pub fn new() -> Self {
        Headers { map: HeaderMap::new() }
    }

    /// Appends a header; an existing name gets a second value. Drops the framing headers (`connection: keep-alive`,
    /// `transfer-encoding`, `keep-alive`), which the server sets. Keeps `content-length`: it counts for streams and for HEAD.
    pub fn append(&mut self, name: &[u8], value: &[u8]) -> Result<(), InvalidHeader> {
        let (header, value) = checked(name, value)?;
        if header == http::header::TRANSFER_ENCODING || header.as_str() == "keep-alive" {
            return Ok(());
        }
        if header == http::header::CONNECTION && !value.as_bytes().eq_ignore_ascii_case(b"close") {
            return Ok(());
        }
        self.map.append(header, value);
        Ok(())
    }

    /// Like `append`, but accepts framing headers too: for a program that takes the connection over.
    pub fn append_unframed(&mut self, name: &[u8], value: &[u8]) -> Result<(), InvalidHeader> {
        let (header, value) = checked(name, value)?;
        self.map.append(header, value);
        Ok(())
    }

    /// The head of a response in wire format for a client of `protocol`. It has `connection: close` unless a header says
    /// otherwise. `None` if `status` is neither 101 nor one of 200 to 599.
    pub fn to_head(&self, protocol: &str, status: u16) -> Option<Vec<u8>> {
        let status = http::StatusCode::from_u16(status).ok().filter(|_| status == 101 || (200..600).contains(&status))?;
        let mut head = format!("{protocol} {} {}\r\n", status.as_str(), status.canonical_reason().unwrap_or("")).into_bytes();
        for (name, value) in &self.map {
            head.extend_from_slice(name.as_str().as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        if !self.has("connection") {
            head.extend_from_slice(b"connection: close\r\n");
        }
        head.extend_from_slice(b"\r\n");
        Some(head)
    }

    pub fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// Sets the length of the body; replaces an earlier value.
    pub fn set_content_length(&mut self, bytes: usize) {
        self.map.insert(CONTENT_LENGTH, bytes.into());
    }

    /// Sets the Location; replaces an earlier value.
    pub fn set_location(&mut self, location: &[u8]) -> Result<(), InvalidHeader> {
        let location =
            HeaderValue::from_bytes(location).map_err(|_| InvalidHeader { name: "location".to_owned(), part: "value" })?;
        self.map.insert(http::header::LOCATION, location);
        Ok(())
    }

    /// Every name with each of its values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.map.iter().map(|(name, value)| (name.as_str(), value.as_bytes()))
    }
}

fn checked(name: &[u8], value: &[u8]) -> Result<(HeaderName, HeaderValue), InvalidHeader> {
    let invalid = |part| InvalidHeader { name: String::from_utf8_lossy(name).into_owned(), part };
    let header = HeaderName::from_bytes(name).map_err(|_| invalid("name"))?;
    let value = HeaderValue::from_bytes(value).map_err(|_| invalid("value"))?;
    Ok((header, value))
}

/// A complete response, or the head of a streamed one.
#[derive(Debug)]
pub struct Response {
    pub(crate) status: http::StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: ResponseBody,
}

impl Response {
    /// A response with a complete body. `None` if `status` is not one of 200 to 599.
    pub fn new(status: u16, headers: Headers, body: Bytes) -> Option<Self> {
        Some(Response { status: final_status(status)?, headers: headers.map, body: ResponseBody::Full(Some(body)) })
    }

    /// A response that sends `file` from its current position. `None` if `status` is not one of 200 to 599.
    pub fn from_file(status: u16, headers: Headers, file: File, bytes: u64) -> Option<Self> {
        let body = ResponseBody::File(FileBody { file: Some(file), reading: None, bytes_left: bytes });
        Some(Response { status: final_status(status)?, headers: headers.map, body })
    }

    pub(crate) fn empty(status: http::StatusCode) -> Self {
        Response { status, headers: HeaderMap::new(), body: ResponseBody::Full(None) }
    }

    pub(crate) fn streamed(status: u16, headers: Headers, stream: Rc<StreamState>) -> Option<Self> {
        stream.announce(headers.map.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok()));
        let body = ResponseBody::Stream(StreamBody { stream });
        Some(Response { status: final_status(status)?, headers: headers.map, body })
    }

    /// Replaces a content-length of the application by the length of a complete body. With another length, the client would take
    /// the next response for a part of this one.
    pub(crate) fn correct_length(&mut self) {
        let Some(bytes) = self.body.length() else { return };
        if self.headers.contains_key(CONTENT_LENGTH) {
            self.headers.insert(CONTENT_LENGTH, bytes.into());
        }
    }

    pub(crate) fn into_http(self) -> http::Response<ResponseBody> {
        let mut response = http::Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        if self.status.canonical_reason().is_none() {
            // RFC 9112 4 allows an empty reason phrase. hyper would write one of its own.
            response.extensions_mut().insert(ReasonPhrase::from_static(b""));
        }
        response
    }
}

fn final_status(status: u16) -> Option<http::StatusCode> {
    http::StatusCode::from_u16(status).ok().filter(|_| (200..600).contains(&status))
}

/// The body that hyper reads.
#[derive(Debug)]
pub(crate) enum ResponseBody {
    Full(Option<Bytes>),
    Stream(StreamBody),
    File(FileBody),
}

#[derive(Debug)]
pub(crate) struct StreamBody {
    stream: Rc<StreamState>,
}

impl ResponseBody {
    /// The length of a complete body; `None` for a stream.
    fn length(&self) -> Option<u64> {
        match self {
            ResponseBody::Full(bytes) => Some(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            ResponseBody::File(body) => Some(body.bytes_left),
            ResponseBody::Stream(_) => None,
        }
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        self.stream.reader_left();
    }
}

pub(crate) struct FileBody {
    file: Option<File>,
    reading: Option<tokio::task::JoinHandle<(File, io::Result<Bytes>)>>,
    bytes_left: u64,
}

impl fmt::Debug for FileBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FileBody").field("bytes_left", &self.bytes_left).finish_non_exhaustive()
    }
}

impl FileBody {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.bytes_left == 0 {
            return Poll::Ready(None);
        }
        if let Some(mut file) = self.file.take() {
            let wanted = usize::try_from(self.bytes_left).unwrap_or(FILE_CHUNK_BYTES).min(FILE_CHUNK_BYTES);
            self.reading = Some(tokio::task::spawn_blocking(move || {
                let mut chunk = BytesMut::zeroed(wanted);
                let outcome = file.read_exact(&mut chunk).map(|()| chunk.freeze());
                (file, outcome)
            }));
        }
        let Some(reading) = self.reading.as_mut() else { return Poll::Ready(None) };
        let (file, outcome) = match std::task::ready!(Pin::new(reading).poll(context)) {
            Ok(done) => done,
            Err(failed) => return Poll::Ready(Some(Err(io::Error::other(failed)))),
        };
        self.reading = None;
        if let Ok(chunk) = &outcome {
            self.file = Some(file);
            self.bytes_left = self.bytes_left.saturating_sub(chunk.len() as u64);
        }
        Poll::Ready(Some(outcome))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let chunk = match &mut *self {
            ResponseBody::Full(bytes) => Poll::Ready(bytes.take().filter(|bytes| !bytes.is_empty()).map(Ok)),
            ResponseBody::Stream(body) => body.stream.poll_chunk(context),
            ResponseBody::File(body) => body.poll_chunk(context),
        };
        chunk.map(|chunk| chunk.map(|bytes| bytes.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ResponseBody::Full(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            ResponseBody::Stream(_) => false,
            ResponseBody::File(body) => body.bytes_left == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ResponseBody::Stream(body) => body.stream.bytes_left().map_or_else(SizeHint::default, SizeHint::with_exact),
            whole => whole.length().map_or_else(SizeHint::default, SizeHint::with_exact),
        }
    }
}
