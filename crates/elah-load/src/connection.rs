//! One keep-alive connection: sends a request, reads its whole response, opens itself anew after a failure.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::failure::Failure;
use crate::requests::Expectation;

/// Bytes that are read at once at most; bodies may be longer.
const READ_BYTES: usize = 16 * 1024;
const HEADERS_MAX: usize = 64;

/// How the end of a body is known.
enum Framing {
    Length(usize),
    Chunked,
    UntilClose,
}

/// The parts of a response's head that matter here.
struct Head {
    bytes: usize,
    status: u16,
    framing: Framing,
    closes: bool,
}

/// A connection that is opened when it is first needed.
#[derive(Debug)]
pub(crate) struct Connection {
    address: SocketAddr,
    stream: Option<TcpStream>,
    /// Received and not yet consumed; empty between two exchanges.
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, stream: None, buffer: Vec::new() }
    }

    /// Opens the connection if it is not open.
    pub(crate) async fn open(&mut self) -> Result<(), Failure> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(self.address).await.map_err(Failure::Connect)?;
            stream.set_nodelay(true).map_err(Failure::Connect)?;
            self.buffer.clear();
            self.stream = Some(stream);
        }
        Ok(())
    }

    /// Drops the connection; the next exchange opens a new one. Needed when an exchange was cut off by a timeout.
    pub(crate) fn close(&mut self) {
        self.stream = None;
    }

    /// Sends `request` and reads the response to its end.
    pub(crate) async fn exchange(&mut self, request: &[u8], expectation: &Expectation) -> Result<(), Failure> {
        self.open().await?;
        let outcome = self.try_exchange(request, expectation).await;
        if outcome.as_ref().is_err_and(|failure| !failure.leaves_connection_usable()) {
            self.close();
        }
        outcome
    }

    async fn try_exchange(&mut self, request: &[u8], expectation: &Expectation) -> Result<(), Failure> {
        let stream = self.stream.as_mut().ok_or_else(|| Failure::Reset("it is not open".to_owned()))?;
        stream.write_all(request).await.map_err(|error| Failure::Reset(error.to_string()))?;
        let head = loop {
            match parse_head(&self.buffer, expectation.is_head)? {
                // Responses such as 100 Continue come before the real one.
                Some(head) if head.status < 200 => {
                    self.buffer.drain(..head.bytes);
                }
                Some(head) => break head,
                None => {
                    if self.fill().await? == 0 {
                        return Err(Failure::Reset("it was closed within the head of the answer".to_owned()));
                    }
                }
            }
        };
        self.buffer.drain(..head.bytes);
        let mut check = BodyCheck::new(expectation.body.as_deref());
        match head.framing {
            Framing::Length(length) => self.read_exactly(length, &mut check).await?,
            Framing::Chunked => self.read_chunks(&mut check).await?,
            Framing::UntilClose => while self.read_some(&mut check).await? {},
        }
        if !self.buffer.is_empty() {
            return Err(Failure::Malformed(format!("{} bytes follow its end", self.buffer.len())));
        }
        if head.closes {
            self.close();
        }
        if head.status != expectation.status {
            return Err(Failure::Status { expected: expectation.status, got: head.status });
        }
        check.finish()
    }

    /// Reads what is there; 0 bytes mean that the other side has closed.
    async fn fill(&mut self) -> Result<usize, Failure> {
        let stream = self.stream.as_mut().ok_or_else(|| Failure::Reset("it is not open".to_owned()))?;
        self.buffer.reserve(READ_BYTES);
        stream.read_buf(&mut self.buffer).await.map_err(|error| Failure::Reset(error.to_string()))
    }

    /// Hands what is in the buffer, or else the next bytes, to `check`; false at the end of the stream.
    async fn read_some(&mut self, check: &mut BodyCheck<'_>) -> Result<bool, Failure> {
        if self.buffer.is_empty() && self.fill().await? == 0 {
            return Ok(false);
        }
        check.take(&self.buffer);
        self.buffer.clear();
        Ok(true)
    }

    async fn read_exactly(&mut self, length: usize, check: &mut BodyCheck<'_>) -> Result<(), Failure> {
        let mut left = length;
        while left > 0 {
            if self.buffer.is_empty() && self.fill().await? == 0 {
                return Err(Failure::Reset(format!("it was closed {left} bytes before the end of the body")));
            }
            let taken = left.min(self.buffer.len());
            check.take(&self.buffer[..taken]);
            self.buffer.drain(..taken);
            left -= taken;
        }
        Ok(())
    }

    async fn read_chunks(&mut self, check: &mut BodyCheck<'_>) -> Result<(), Failure> {
        loop {
            let line = self.read_line().await?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(digits, 16)
                .map_err(|_| Failure::Malformed(format!("{line:?} is not the size of a chunk")))?;
            if size == 0 {
                while !self.read_line().await?.is_empty() {}
                return Ok(());
            }
            self.read_exactly(size, check).await?;
            if !self.read_line().await?.is_empty() {
                return Err(Failure::Malformed("a chunk does not end where its size says".to_owned()));
            }
        }
    }

    /// The next line without its line end.
    async fn read_line(&mut self) -> Result<String, Failure> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
                self.buffer.drain(..end + 2);
                return Ok(line);
            }
            if self.fill().await? == 0 {
                return Err(Failure::Reset("it was closed within a chunked body".to_owned()));
            }
        }
    }
}

/// Parses the head at the start of `buffer`; nothing when it is not complete.
fn parse_head(buffer: &[u8], is_head: bool) -> Result<Option<Head>, Failure> {
    if buffer.is_empty() {
        return Ok(None);
    }
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let bytes = match response.parse(buffer).map_err(|error| Failure::Malformed(error.to_string()))? {
        httparse::Status::Complete(bytes) => bytes,
        httparse::Status::Partial => return Ok(None),
    };
    let status = response.code.unwrap_or_default();
    let mut framing = Framing::UntilClose;
    let mut closes = response.version == Some(0);
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let length = std::str::from_utf8(header.value).ok().and_then(|text| text.trim().parse().ok());
            framing = Framing::Length(length.ok_or_else(|| Failure::Malformed("bad Content-Length".to_owned()))?);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            framing = Framing::Chunked;
        } else if header.name.eq_ignore_ascii_case("connection") {
            closes = header.value.eq_ignore_ascii_case(b"close");
        }
    }
    if is_head || status < 200 || status == 204 || status == 304 {
        framing = Framing::Length(0);
    }
    closes |= matches!(framing, Framing::UntilClose);
    Ok(Some(Head { bytes, status, framing, closes }))
}

/// Compares a body with the expected one as it comes, without keeping it.
struct BodyCheck<'a> {
    expected: Option<&'a [u8]>,
    got_bytes: usize,
    is_equal: bool,
}

impl<'a> BodyCheck<'a> {
    fn new(expected: Option<&'a [u8]>) -> Self {
        Self { expected, got_bytes: 0, is_equal: true }
    }

    fn take(&mut self, part: &[u8]) {
        if let Some(expected) = self.expected {
            let end = self.got_bytes + part.len();
            self.is_equal &= expected.get(self.got_bytes..end) == Some(part);
        }
        self.got_bytes += part.len();
    }

    fn finish(self) -> Result<(), Failure> {
        match self.expected {
            Some(expected) if !self.is_equal || expected.len() != self.got_bytes => {
                Err(Failure::Body { expected_bytes: expected.len(), got_bytes: self.got_bytes })
            }
            _ => Ok(()),
        }
    }
}
