//! What the system knows of peers: which have broken their connections, how much one has not read, and whether the reader of a pipe
//! takes more.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

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

/// Waits until a write would not block: false after the time. A descriptor that is closed or broken is writable, as a write says why.
#[expect(unsafe_code, reason = "no safe way asks for it without a change of the flags, which other processes share")]
pub fn await_writable(descriptor: RawFd, within: Duration) -> bool {
    let milliseconds = libc::c_int::try_from(within.as_millis()).unwrap_or(libc::c_int::MAX);
    let mut polled = libc::pollfd { fd: descriptor, events: libc::POLLOUT, revents: 0 };
    loop {
        // SAFETY: `polled` is one entry and is borrowed by nobody else; the call keeps no pointer to it.
        let count = unsafe { libc::poll(&raw mut polled, 1, milliseconds) };
        if count >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return count != 0;
        }
    }
}

/// The bytes that a pipe takes at once for certain; 0 for what is no pipe. Unread bytes fill at least half of each page but the first
/// and the last one: what does not fit behind others begins a page.
#[expect(unsafe_code, reason = "no safe way asks for the size of a pipe")]
pub fn pipe_room(descriptor: RawFd) -> usize {
    const TWO_PAGES: usize = 2 * 4096;
    let mut unread: libc::c_int = 0;
    // SAFETY: the first call writes one integer to `unread`, which outlives it; the second one writes nothing.
    let (outcome, size) =
        unsafe { (libc::ioctl(descriptor, libc::FIONREAD, &raw mut unread), libc::fcntl(descriptor, libc::F_GETPIPE_SZ)) };
    let (Ok(size), Ok(unread), 0..) = (usize::try_from(size), usize::try_from(unread), outcome) else { return 0 };
    size.saturating_sub(2 * unread + TWO_PAGES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

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

    #[test]
    fn a_full_pipe_has_no_room_until_it_is_read() {
        let (mut reader, mut writer) = io::pipe().unwrap();
        assert_eq!(pipe_room(writer.as_raw_fd()), 65_536 - 8192);
        let mut written = 0;
        while await_writable(writer.as_raw_fd(), Duration::ZERO) {
            written += writer.write(&[0; 4096]).unwrap();
        }
        assert!(written >= 4096);
        assert_eq!(pipe_room(writer.as_raw_fd()), 0);
        assert!(!await_writable(writer.as_raw_fd(), Duration::from_millis(1)));
        io::copy(&mut io::Read::take(&mut reader, 8192), &mut io::sink()).unwrap();
        assert!(await_writable(writer.as_raw_fd(), Duration::from_secs(60)));
        drop(reader);
        assert!(await_writable(writer.as_raw_fd(), Duration::ZERO), "a write would fail at once");
    }
}
