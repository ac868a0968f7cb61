//! A request body: kept in memory while it is small, spooled to an unlinked file if it is large, or left with hyper to be read in
//! pieces.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::task::AbortHandle;

use crate::problem::Problem;

#[derive(Debug)]
pub(crate) enum RequestBody {
    Empty,
    Memory(Bytes),
    Spooled {
        file: File,
        bytes: u64,
    },
    /// `unread` are bytes that a reader put back; they come first.
    Streamed {
        unread: Bytes,
        rest: Incoming,
    },
    /// A streamed one whose client broke off: no part of it is taken for the whole.
    Failed(Problem),
}

impl RequestBody {
    pub(crate) fn is_streamed(&self) -> bool {
        matches!(self, RequestBody::Streamed { .. } | RequestBody::Failed(_))
    }
}

/// A read of the next piece of a streamed body, until its result is fetched.
#[derive(Debug)]
pub(crate) enum BodyRead {
    Running(AbortHandle),
    /// `None` at the end of the body.
    Done(Result<Option<Bytes>, Problem>),
}

/// Reads the whole body. Bytes beyond `memory_bytes` go to an unlinked file, so a crash leaves nothing behind.
pub(crate) async fn collect(mut body: Incoming, memory_bytes: usize) -> Result<RequestBody, Problem> {
    let announced = body.size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
    let mut memory = BytesMut::with_capacity(announced.min(memory_bytes));
    let mut spool: Option<Spool> = None;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(incomplete)?.into_data() else { continue };
        match &mut spool {
            Some(spool) => spool.append(data).await.map_err(|cause| unspoolable(&cause))?,
            None if memory.len() + data.len() <= memory_bytes => memory.extend_from_slice(&data),
            None => {
                let mut started = Spool::create().await.map_err(|cause| unspoolable(&cause))?;
                started.append(std::mem::take(&mut memory).freeze()).await.map_err(|cause| unspoolable(&cause))?;
                started.append(data).await.map_err(|cause| unspoolable(&cause))?;
                spool = Some(started);
            }
        }
    }
    match spool {
        Some(spool) => spool.finish().await.map_err(|cause| unspoolable(&cause)),
        None if memory.is_empty() => Ok(RequestBody::Empty),
        None => Ok(RequestBody::Memory(memory.freeze())),
    }
}

/// The error for a body that ended early.
pub(crate) fn incomplete(_: hyper::Error) -> Problem {
    Problem::new(400, "incomplete_body", "The request body ended before its announced length.")
}

fn unspoolable(cause: &io::Error) -> Problem {
    Problem::new(
        507,
        "spool_failed",
        format!("The request body is too long for memory and could not be spooled to disk: {cause}."),
    )
}

/// Smaller pieces are joined before they are written, because a client may send each byte as a chunk of its own.
const WRITE_BYTES_MIN: usize = 64 * 1024;

/// The file of one body. It is written on tokio's blocking threads, because a disk may be slow.
struct Spool {
    file: Option<File>,
    /// Bytes that are not written yet.
    gathered: BytesMut,
    bytes: u64,
}

impl Spool {
    async fn create() -> io::Result<Self> {
        let file = blocking(tempfile::tempfile).await?;
        Ok(Spool { file: Some(file), gathered: BytesMut::new(), bytes: 0 })
    }

    async fn append(&mut self, data: Bytes) -> io::Result<()> {
        self.bytes += data.len() as u64;
        if self.gathered.is_empty() && data.len() >= WRITE_BYTES_MIN {
            return self.write(data).await;
        }
        self.gathered.extend_from_slice(&data);
        if self.gathered.len() < WRITE_BYTES_MIN {
            return Ok(());
        }
        let gathered = self.gathered.split().freeze();
        self.write(gathered).await
    }

    async fn write(&mut self, data: Bytes) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return Err(io::Error::other("an earlier write failed")) };
        self.file = Some(blocking(move || file.write_all(&data).map(|()| file)).await?);
        Ok(())
    }

    async fn finish(mut self) -> io::Result<RequestBody> {
        let rest = std::mem::take(&mut self.gathered).freeze();
        self.write(rest).await?;
        let bytes = self.bytes;
        let Some(mut file) = self.file else { return Err(io::Error::other("an earlier write failed")) };
        let file = blocking(move || file.seek(SeekFrom::Start(0)).map(|_| file)).await?;
        Ok(RequestBody::Spooled { file, bytes })
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
