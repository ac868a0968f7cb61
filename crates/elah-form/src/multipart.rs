//! A reader of the parts of a `multipart/form-data` body in memory. multer finds the parts; this module reads their heads as Rack
//! does.

mod disposition;

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_core::Stream;
use multer::{Field, Multipart};

use self::disposition::{Disposition, parameters};

/// Bytes of the body passed to multer at once. It searches them again while it waits for a boundary.
const CHUNK_BYTES: usize = 256 * 1024;
/// RFC 2046, section 5.1.1.
const BOUNDARY_BYTES_MAX: usize = 70;

/// Why a body has no readable parts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MultipartError {
    /// The content type is not multipart, or does not name one boundary of 1 to 70 bytes.
    Boundary {
        reason: &'static str,
    },
    /// The body ends before its last boundary, or has no boundary at all.
    Truncated,
    /// The head of a part is malformed.
    Head {
        part: usize,
        reason: String,
    },
    /// The head of a part has no name, or one that is not UTF-8.
    Unnamed {
        part: usize,
    },
    TooManyParts {
        parts_max: usize,
    },
    TooManyFiles {
        files_max: usize,
    },
}

impl fmt::Display for MultipartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boundary { reason } => write!(f, "the content type {reason}"),
            Self::Truncated => write!(f, "the body ends before its last boundary"),
            Self::Head { part, reason } => write!(f, "the head of part {part} cannot be read: {reason}"),
            Self::Unnamed { part } => write!(f, "part {part} has no name in UTF-8"),
            Self::TooManyParts { parts_max } => write!(f, "there are more than {parts_max} parts"),
            Self::TooManyFiles { files_max } => write!(f, "there are more than {files_max} files"),
        }
    }
}

impl std::error::Error for MultipartError {}

/// Maximum numbers of what a body has.
#[derive(Debug, Clone, Copy)]
pub struct PartBounds {
    pub parts_max: usize,
    pub files_max: usize,
}

/// The head of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartHead {
    pub name: String,
    /// Set for a file; empty when a form was sent without choosing one. It is safe as the name of a file in a folder, whatever
    /// the client sent: it has no folders and no control characters, and is neither `.` nor `..`.
    pub filename: Option<String>,
    /// As it was sent.
    pub content_type: Option<String>,
    /// The header lines, each with its line end.
    pub text: Vec<u8>,
}

impl PartHead {
    /// The charset that the part declares for plain text.
    pub fn charset(&self) -> Option<String> {
        let content_type = self.content_type.as_deref()?;
        let (kind, _) = content_type.split_once(';')?;
        let charset = parameters(content_type.as_bytes()).find(|parameter| parameter.name.eq_ignore_ascii_case("charset"))?;
        kind.trim().eq_ignore_ascii_case("text/plain").then(|| String::from_utf8_lossy(charset.value).into_owned())
    }
}

/// Reads one body part by part.
pub struct PartReader<'b> {
    parts: Multipart<'b>,
    field: Option<Field<'b>>,
    count: usize,
    files: usize,
    bounds: PartBounds,
    /// Polls that may still find nothing. multer needs at most one per chunk; more would mean an endless loop.
    patience: usize,
}

impl<'b> PartReader<'b> {
    /// # Errors
    /// [`MultipartError::Boundary`] when `content_type` names no boundary.
    pub fn new(body: &'b [u8], content_type: &[u8], bounds: PartBounds) -> Result<Self, MultipartError> {
        let boundary = boundary(content_type)?;
        let chunks = Chunks { body, is_due: true };
        let patience = 16 + 4 * (body.len() / CHUNK_BYTES);
        Ok(Self { parts: Multipart::new(chunks, boundary), field: None, count: 0, files: 0, bounds, patience })
    }

    /// The head of the next part. Skips the rest of the previous part.
    ///
    /// # Errors
    /// All but [`MultipartError::Boundary`].
    pub fn next_part(&mut self) -> Result<Option<PartHead>, MultipartError> {
        self.field = None;
        let parts = &mut self.parts;
        let next = wait(&mut self.patience, |context| parts.poll_next_field(context));
        let Some(field) = next?.map_err(|error| self.error(error))? else { return Ok(None) };
        self.count += 1;
        let PartBounds { parts_max, files_max } = self.bounds;
        if self.count > parts_max {
            return Err(MultipartError::TooManyParts { parts_max });
        }
        let head = head(&field).ok_or(MultipartError::Unnamed { part: self.count })?;
        self.files += usize::from(head.filename.is_some());
        if self.files > files_max {
            return Err(MultipartError::TooManyFiles { files_max });
        }
        self.field = Some(field);
        Ok(Some(head))
    }

    /// The next bytes of the current part, `None` at its end.
    ///
    /// # Errors
    /// [`MultipartError::Truncated`].
    pub fn next_chunk(&mut self) -> Result<Option<Bytes>, MultipartError> {
        let Some(field) = &mut self.field else { return Ok(None) };
        match wait(&mut self.patience, |context| Pin::new(&mut *field).poll_next(context))? {
            None => Ok(None),
            Some(Ok(chunk)) => Ok(Some(chunk)),
            Some(Err(error)) => Err(self.error(error)),
        }
    }

    fn error(&self, error: multer::Error) -> MultipartError {
        match error {
            multer::Error::IncompleteStream | multer::Error::IncompleteFieldData { .. } => MultipartError::Truncated,
            other => MultipartError::Head { part: self.count + 1, reason: other.to_string() },
        }
    }
}

/// Polls a future that never waits for I/O, because the body is in memory.
fn wait<T>(patience: &mut usize, mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Result<T, MultipartError> {
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = poll(&mut context) {
            return Ok(result);
        }
        *patience = patience.checked_sub(1).ok_or(MultipartError::Truncated)?;
    }
}

/// The body as a stream that pauses after each chunk. Otherwise multer would read it all before it parses any of it.
struct Chunks<'b> {
    body: &'b [u8],
    is_due: bool,
}

impl Stream for Chunks<'_> {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.body.is_empty() {
            return Poll::Ready(None);
        }
        self.is_due = !self.is_due;
        if self.is_due {
            return Poll::Pending;
        }
        let (chunk, rest) = self.body.split_at(self.body.len().min(CHUNK_BYTES));
        self.body = rest;
        Poll::Ready(Some(Ok(Bytes::copy_from_slice(chunk))))
    }
}

fn boundary(content_type: &[u8]) -> Result<String, MultipartError> {
    let wrong = |reason| Err(MultipartError::Boundary { reason });
    if !content_type.get(..10).is_some_and(|start| start.eq_ignore_ascii_case(b"multipart/")) {
        return wrong("is not multipart");
    }
    let mut boundaries = parameters(content_type).filter(|parameter| parameter.name.eq_ignore_ascii_case("boundary"));
    let Some(boundary) = boundaries.next() else { return wrong("names no boundary") };
    if boundaries.next().is_some() {
        return wrong("names more than one boundary");
    }
    match std::str::from_utf8(boundary.value) {
        Ok(text) if (1..=BOUNDARY_BYTES_MAX).contains(&text.len()) && text.is_ascii() => Ok(text.to_owned()),
        _ => wrong("names a boundary that is not 1 to 70 ASCII characters"),
    }
}

fn head(field: &Field<'_>) -> Option<PartHead> {
    let headers = field.headers();
    let disposition = Disposition::parse(headers.get("content-disposition")?.as_bytes());
    let content_type = headers.get("content-type").map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let mut text = Vec::new();
    for (name, value) in headers {
        write_title_case(&mut text, name.as_str());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    Some(PartHead { name: disposition.name?, filename: disposition.filename, content_type, text })
}

/// `content-type` → `Content-Type`, the spelling of clients; the parser keeps lower case.
fn write_title_case(out: &mut Vec<u8>, name: &str) {
    let mut starts_word = true;
    for byte in name.bytes() {
        out.push(if starts_word { byte.to_ascii_uppercase() } else { byte });
        starts_word = byte == b'-';
    }
}
