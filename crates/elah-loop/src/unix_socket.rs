//! A listening Unix socket and its file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;
use std::time::Duration;

use socket2::{Domain, Type};

/// How long another start may take that is between two of its steps, and the pause between two looks.
const LOCKED: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// Listens on `path`. Replaces a socket file on which no process listens any more. Of processes that do so at the same time, one listens: the
/// folder is locked meanwhile, unless somebody else has it locked for long.
///
/// # Errors
/// `AddrInUse` if another process listens on it; errors of the system.
pub fn bind(path: &Path, backlog: i32) -> io::Result<UnixListener> {
    let address = socket2::SockAddr::unix(path)?;
    let _lock = path.parent().and_then(lock);
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

fn lock(folder: &Path) -> Option<File> {
    let folder = File::open(if folder.as_os_str().is_empty() { Path::new(".") } else { folder }).ok()?;
    for _ in 0..LOCKED.as_millis() / LOOK.as_millis() {
        if folder.try_lock().is_ok() {
            return Some(folder);
        }
        thread::sleep(LOOK);
    }
    None
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

    // Each found that nobody listens, and the second removed the file of the first.
    #[test]
    fn of_two_that_start_beside_a_left_over_file_one_listens() {
        let path = std::env::temp_dir().join(format!("elah-unix-sockets-{}", std::process::id()));
        for _ in 0..200 {
            drop(UnixListener::bind(&path).unwrap());
            let bound = std::thread::scope(|scope| {
                let starts: Vec<_> = (0..4).map(|_| scope.spawn(|| bind(&path, 1))).collect();
                starts.into_iter().filter_map(|start| start.join().unwrap().ok()).collect::<Vec<_>>()
            });
            assert_eq!(bound.len(), 1);
            std::fs::remove_file(&path).unwrap();
        }
    }
}
