//! The sockets between workers: the file on which a worker listens, for processes of the same user only, and the connection to
//! another worker.

use std::cell::Cell;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::net::{UnixListener, UnixStream};

use elah_loop::unix_socket;

/// The most connections in the backlog, also of a paused worker.
const BACKLOG: i32 = 128;

/// How long a worker with a full backlog is retried, and the pause between two attempts. Callers have their own, shorter
/// deadlines.
const FULL_BACKLOG_MAX: Duration = Duration::from_secs(5);
const FULL_BACKLOG_PAUSE: Duration = Duration::from_millis(5);

/// The file of the listening socket.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    inode: Cell<u64>,
    owner: u32,
    process_id: u32,
}

impl SocketFile {
    /// Listens on `path`. Refuses a folder that others may enter, or that belongs to another user.
    pub(crate) fn bind(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
        let (listener, metadata) = listen(path)?;
        let (inode, owner) = (Cell::new(metadata.ino()), metadata.uid());
        Ok((listener, SocketFile { path: path.to_owned(), inode, owner, process_id: std::process::id() }))
    }

    /// Listens again if the file is gone: a cleaner may remove it, or systemd the folder when the user's last session ends.
    pub(crate) fn restore(&self) -> io::Result<Option<UnixListener>> {
        if fs::symlink_metadata(&self.path).is_ok() {
            return Ok(None);
        }
        let (listener, metadata) = listen(&self.path)?;
        self.inode.set(metadata.ino());
        Ok(Some(listener))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The user that this process runs as.
    pub(crate) fn owner(&self) -> u32 {
        self.owner
    }

    /// Removes the file, unless this is a forked child or the path belongs to another socket now.
    pub(crate) fn remove(&self) {
        let is_ours = fs::symlink_metadata(&self.path).is_ok_and(|metadata| metadata.ino() == self.inode.get());
        if is_ours && std::process::id() == self.process_id {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn listen(path: &Path) -> io::Result<(UnixListener, Metadata)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no folder"))?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let listener = unix_socket::bind(path, BACKLOG)?;
    let metadata = fs::symlink_metadata(path)?;
    let folder = fs::metadata(folder)?;
    if folder.uid() != metadata.uid() || folder.mode() & 0o077 != 0 {
        let _ = fs::remove_file(path);
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "its folder must belong to this user and be closed to others (mode 0700)",
        ));
    }
    listener.set_nonblocking(true)?;
    Ok((UnixListener::from_std(listener)?, metadata))
}

/// Connects to the worker that listens on `path`. A full backlog means that the worker exists but is behind. Linux refuses such a
/// non-blocking connection with EAGAIN, so it is retried until `is_given_up`.
pub(crate) async fn connect(path: &str, is_given_up: impl Fn() -> bool) -> io::Result<UnixStream> {
    let give_up_at = Instant::now() + FULL_BACKLOG_MAX;
    loop {
        match UnixStream::connect(path).await {
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock && !is_given_up() && Instant::now() < give_up_at => {
                tokio::time::sleep(FULL_BACKLOG_PAUSE).await;
            }
            connected => return connected,
        }
    }
}

/// Whether the process at the other end runs as `owner`.
pub(crate) fn trusted(stream: &UnixStream, owner: u32) -> Result<(), String> {
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == owner => Ok(()),
        Ok(peer) => Err(format!("the process at the other end runs as user {}, and this one as {owner}", peer.uid())),
        Err(cause) => Err(format!("the system does not say who is at the other end: {cause}")),
    }
}
