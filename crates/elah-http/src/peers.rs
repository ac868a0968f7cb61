//! What the system knows of peers: which have broken their connections, and how much one has not read.

use std::io;
use std::os::fd::RawFd;

/// For each descriptor, whether its peer has reset it or closed both directions, which hyper does not see while a handler runs. A
/// peer that closed its sending side only still waits for a response, so it is not broken. Negative descriptors are never broken.
#[expect(unsafe_code, reason = "one system call for all sockets, where the safe ways need one each")]
pub(crate) fn broken(descriptors: &[RawFd]) -> io::Result<Vec<bool>> {
    let mut polled: Vec<_> =
        descriptors.iter().map(|descriptor| libc::pollfd { fd: *descriptor, events: 0, revents: 0 }).collect();
    let count = libc::nfds_t::try_from(polled.len()).map_err(io::Error::other)?;
    // SAFETY: `polled` holds `count` entries and is borrowed by nobody else; the call keeps no pointer to it.
    if unsafe { libc::poll(polled.as_mut_ptr(), count, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(polled.iter().map(|entry| entry.revents & (libc::POLLERR | libc::POLLHUP) != 0).collect())
}

/// The bytes that the kernel still holds for the peer of a socket; 0 when the socket is closed.
#[expect(unsafe_code, reason = "no safe way asks for it, of TCP and of Unix sockets alike")]
pub(crate) fn unsent_bytes(descriptor: RawFd) -> usize {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the call writes one integer to `bytes`, which outlives it.
    let outcome = unsafe { libc::ioctl(descriptor, libc::TIOCOUTQ, &raw mut bytes) };
    if outcome < 0 { 0 } else { usize::try_from(bytes).unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    fn tcp_pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn a_half_closed_peer_is_not_broken_and_one_that_resets_is() {
        let (half_closed, server_of_half_closed) = tcp_pair();
        half_closed.shutdown(Shutdown::Write).unwrap();
        let (resetting, mut server_of_resetting) = tcp_pair();
        // Closing a socket with unread bytes resets it.
        server_of_resetting.write_all(b"unread").unwrap();
        resetting.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        resetting.peek(&mut [0]).unwrap();
        drop(resetting);
        let found = broken(&[server_of_half_closed.as_raw_fd(), server_of_resetting.as_raw_fd(), -1]).unwrap();
        assert_eq!(found, [false, true, false]);
    }

    #[test]
    fn a_unix_peer_that_closed_is_broken() {
        let (client, server) = UnixStream::pair().unwrap();
        assert_eq!(broken(&[server.as_raw_fd()]).unwrap(), [false]);
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(broken(&[server.as_raw_fd()]).unwrap(), [false]);
        drop(client);
        assert_eq!(broken(&[server.as_raw_fd()]).unwrap(), [true]);
    }
}
