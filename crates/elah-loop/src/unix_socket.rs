//! A listening Unix socket and its file.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use socket2::{Domain, Type};

/// Listens on `path`. Replaces a socket file on which no process listens any more.
///
/// # Errors
/// `AddrInUse` if another process listens on it; errors of the system.
pub fn bind(path: &Path, backlog: i32) -> io::Result<UnixListener> {
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        match std::os::unix::net::UnixStream::connect(path) {
            Ok(_) => return Err(io::Error::new(io::ErrorKind::AddrInUse, "another process listens on this socket")),
            Err(_) => std::fs::remove_file(path)?,
        }
    }
    let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&socket2::SockAddr::unix(path)?)?;
    socket.listen(backlog)?;
    Ok(socket.into())
}
