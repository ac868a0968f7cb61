//! The hello on TCP: each end says at once who it is. Nothing else is sent before both have checked it.

use std::fmt;
use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::frame::{self, Frame, Malformed, VERSION};
use crate::stream::{Failure, Stream, cause_of};

/// The longest hello; a longer frame is refused by its length.
const HELLO_BYTES_MAX: usize = 1024;

/// Who is at an end of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The cluster that it belongs to. Others are refused.
    pub(crate) cluster: String,
    /// Its machine, which its certificate names.
    pub(crate) node: String,
    /// Its process; the number is used once.
    pub(crate) writer: u64,
}

/// Why a connection has no hello that is accepted.
#[derive(Debug)]
pub(crate) enum Unaccepted {
    Lost(io::Error),
    Malformed(Malformed),
    /// It does not say who it is.
    Nameless,
    OtherCluster {
        theirs: String,
        ours: String,
    },
    OtherNode {
        theirs: String,
        wanted: String,
    },
    OtherWriter {
        theirs: u64,
        wanted: u64,
    },
    /// The certificate does not name the node that it says it is.
    NotCertified {
        node: String,
    },
}

impl fmt::Display for Unaccepted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unaccepted::Lost(cause) => formatter.write_str(&cause_of(cause)),
            Unaccepted::Malformed(malformed) => malformed.fmt(formatter),
            Unaccepted::Nameless => formatter.write_str("it did not say who it is"),
            Unaccepted::OtherCluster { theirs, ours } => {
                write!(formatter, "it belongs to the cluster {theirs:?}, and this worker to {ours:?}")
            }
            Unaccepted::OtherNode { theirs, wanted } => write!(formatter, "it is the node {theirs:?}, not {wanted:?}"),
            Unaccepted::OtherWriter { theirs, wanted } => write!(formatter, "it is writer {theirs} now, not {wanted}"),
            Unaccepted::NotCertified { node } => {
                write!(formatter, "it says that it is the node {node:?}, which its certificate does not name")
            }
        }
    }
}

impl From<Unaccepted> for Failure {
    fn from(unaccepted: Unaccepted) -> Failure {
        match unaccepted {
            // A worker that has been replaced is nobody's mistake.
            Unaccepted::Lost(_) | Unaccepted::OtherWriter { .. } => Failure::Lost(unaccepted.to_string()),
            _ => Failure::Refused(unaccepted.to_string()),
        }
    }
}

impl Identity {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.writer.to_le_bytes().to_vec();
        for text in [&self.cluster, &self.node] {
            bytes.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
            bytes.extend_from_slice(&text.as_bytes()[..text.len().min(usize::from(u8::MAX))]);
        }
        bytes
    }

    fn read(mut bytes: Bytes) -> Option<Identity> {
        let writer = bytes.try_get_u64_le().ok()?;
        let mut text = || {
            let length = usize::from(bytes.try_get_u8().ok()?);
            if bytes.len() < length {
                return None;
            }
            String::from_utf8(bytes.split_to(length).into()).ok()
        };
        Some(Identity { writer, cluster: text()?, node: text()? })
    }
}

/// Says hello, and waits until the other end has said it and belongs to the same cluster. Returns what else it has sent.
pub(crate) async fn exchange(stream: &mut impl Stream, own: &Identity) -> Result<(Identity, BytesMut), Unaccepted> {
    let mut bytes = Vec::new();
    frame::hello(&mut bytes, VERSION, &own.encode());
    stream.write_all(&bytes).await.map_err(Unaccepted::Lost)?;
    stream.flush().await.map_err(Unaccepted::Lost)?;
    let mut received = BytesMut::new();
    let first = loop {
        if let Some(frame) = frame::take(&mut received, &mut 0, HELLO_BYTES_MAX).map_err(Unaccepted::Malformed)? {
            break frame;
        }
        if stream.read_buf(&mut received).await.map_err(Unaccepted::Lost)? == 0 {
            return Err(Unaccepted::Lost(io::ErrorKind::UnexpectedEof.into()));
        }
    };
    let theirs = match first {
        Frame::Hello { version, rest } if frame::is_understood(version) => Identity::read(rest).ok_or(Unaccepted::Nameless)?,
        Frame::Hello { version, .. } => return Err(Unaccepted::Malformed(Malformed::OtherVersion(version))),
        _ => return Err(Unaccepted::Malformed(Malformed::NoHello)),
    };
    if theirs.cluster != own.cluster {
        return Err(Unaccepted::OtherCluster { theirs: theirs.cluster, ours: own.cluster.clone() });
    }
    Ok((theirs, received))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity { cluster: "shop".to_owned(), node: "n".repeat(253), writer: u64::MAX }
    }

    #[test]
    fn an_identity_is_read_as_it_was_written_or_not_at_all() {
        let bytes = identity().encode();
        assert_eq!(Identity::read(bytes.clone().into()), Some(identity()));
        for length in 0..bytes.len() {
            assert_eq!(Identity::read(Bytes::copy_from_slice(&bytes[..length])), None);
        }
    }

    #[test]
    fn fuzz_identities() {
        let mutator = elah_fuzz::Mutator::new(&[&identity().encode()[..40]], &["shop"]);
        elah_fuzz::run("identities", |random| {
            Identity::read(mutator.mutated(random).into());
        });
    }
}
