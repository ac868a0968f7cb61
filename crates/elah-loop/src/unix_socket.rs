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
    let address = socket2::SockAddr::unix(path)?;
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        match connect(&address) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => return Err(io::Error::new(io::ErrorKind::AddrInUse, "another process listens on this socket")),
        }
    }
    let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&address)?;
    socket.listen(backlog)?;
    Ok(socket.into())
}

/// Connects without waiting for a process that listens and does not accept.
fn connect(address: &socket2::SockAddr) -> io::Result<socket2::Socket> {
    let client = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
    client.set_nonblocking(true)?;
    client.connect(address).map(|()| client)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The start of another server waited for it, or removed its file.
    #[test]
    fn a_process_that_does_not_accept_keeps_its_file() {
        let path = std::env::temp_dir().join(format!("elah-unix-socket-{}", std::process::id()));
        let _hung = bind(&path, 0).unwrap();
        let address = socket2::SockAddr::unix(&path).unwrap();
        let _crowd: Vec<_> = std::iter::from_fn(|| connect(&address).ok()).collect();
        assert_eq!(bind(&path, 1).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert!(path.exists());
        std::fs::remove_file(&path).unwrap();
    }
}
