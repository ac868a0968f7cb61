//! TCP between workers: the listening socket, connections to other machines, and who is at the other end on loopback.

use std::fmt::Write;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpStream, lookup_host};

use crate::address::Host;

/// The most connections in the backlog, also of a paused worker.
const BACKLOG: i32 = 128;

/// A machine that has vanished is noticed after this time, while bytes to it are unacknowledged or the link is idle.
const USER_TIMEOUT: Duration = Duration::from_secs(10);
const KEEPALIVE_IDLE: Duration = Duration::from_secs(5);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);

/// Listens on the first free port.
pub(crate) fn bind(host: IpAddr, ports: RangeInclusive<u16>) -> io::Result<TcpListener> {
    let (first, last) = (*ports.start(), *ports.end());
    for port in ports {
        match bind_port(SocketAddr::new(host, port)) {
            Err(cause) if cause.kind() == io::ErrorKind::AddrInUse => {}
            bound => return bound,
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, format!("no port of {first}-{last} is free on {host}")))
}

fn bind_port(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // A port of connections that have ended may be used, but not one on which another process listens.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Connects to the first address of the host that accepts. A name is resolved on another thread.
pub(crate) async fn connect(host: &Host, port: u16) -> io::Result<TcpStream> {
    let name = match host {
        Host::Ip(address) => return prepared(TcpStream::connect((*address, port)).await?),
        Host::Name(name) => name,
    };
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in lookup_host((name.as_str(), port)).await? {
        match TcpStream::connect(address).await {
            Ok(stream) => return prepared(stream),
            Err(cause) => failure = cause,
        }
    }
    Err(failure)
}

/// Sets the options of a connection.
pub(crate) fn prepared(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(&stream);
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE_IDLE).with_interval(KEEPALIVE_INTERVAL))?;
    socket.set_tcp_user_timeout(Some(USER_TIMEOUT))?;
    Ok(stream)
}

/// Whether the process at the other end of a loopback connection runs as `owner`. The process must have accepted the connection.
pub(crate) fn is_of_same_user(stream: &TcpStream, owner: u32) -> Result<(), String> {
    let (local, peer) = match (stream.local_addr(), stream.peer_addr()) {
        (Ok(local), Ok(peer)) if local.ip().is_loopback() && peer.ip().is_loopback() => (local, peer),
        (Err(cause), _) | (_, Err(cause)) => return Err(cause.to_string()),
        _ => return Err("it is not on loopback, and this worker has no certificate".to_owned()),
    };
    let path = if peer.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    let table = std::fs::read_to_string(path).map_err(|cause| format!("{path} cannot be read: {cause}"))?;
    match owner_in(&table, peer, local) {
        Some(user) if user == owner => Ok(()),
        Some(user) => Err(format!("the process at the other end runs as user {user}, and this one as {owner}")),
        None => Err(format!("{path} does not say who is at the other end")),
    }
}

/// The user of the socket with these addresses, in a table of the kernel.
fn owner_in(table: &str, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let (local, remote) = (in_table(local), in_table(remote));
    table.lines().find_map(|line| {
        let mut columns = line.split_ascii_whitespace().skip(1);
        let found = columns.next()? == local && columns.next()? == remote;
        found.then(|| columns.nth(4)?.parse().ok())?
    })
}

/// An address as the kernel writes it: words of four bytes in the machine's order, then the port.
fn in_table(address: SocketAddr) -> String {
    let octets = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let mut text = String::new();
    for word in octets.chunks_exact(4) {
        let _ = write!(text, "{:08X}", u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    }
    let _ = write!(text, ":{:04X}", address.port());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn the_user_of_a_socket_is_found_by_both_addresses() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000   105        0 24691 1 0\n   \
                     1: 0100007F:1538 0200007F:A0F2 01 00000000:00000000 00:00000000 00000000  1000        0 24692 1 0\n";
        let [server, client] = ["127.0.0.1:5432", "127.0.0.2:41202"].map(|text| text.parse().unwrap());
        assert_eq!(owner_in(table, server, client), Some(1000));
        assert_eq!(owner_in(table, client, server), None);
        assert_eq!(in_table("[::1]:80".parse().unwrap()), "00000000000000000000000001000000:0050");
    }

    #[tokio::test]
    async fn both_ends_of_a_loopback_connection_know_their_user() {
        for host in ["127.0.0.3", "::1"] {
            let Ok(listener) = bind(host.parse().unwrap(), 0..=0) else { continue }; // without IPv6
            let address = listener.local_addr().unwrap();
            let client = connect(&Host::Ip(address.ip()), address.port()).await.unwrap();
            let (server, _) = tokio::net::TcpListener::from_std(listener).unwrap().accept().await.unwrap();
            let user = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap());
            let server = prepared(server).unwrap();
            for end in [&client, &server] {
                let socket = SockRef::from(end);
                assert!(socket.tcp_nodelay().unwrap() && socket.keepalive().unwrap());
                assert_eq!(socket.tcp_user_timeout().unwrap(), Some(USER_TIMEOUT));
                assert_eq!(is_of_same_user(end, user), Ok(()));
                assert!(is_of_same_user(end, user + 1).is_err_and(|refusal| refusal.contains("runs as user")));
            }
        }
    }

    #[tokio::test]
    async fn the_first_free_port_is_used_and_none_twice() {
        let host = "127.0.0.4".parse().unwrap();
        let first = bind(host, 0..=0).unwrap();
        let port = first.local_addr().unwrap().port();
        let last = port.saturating_add(20);
        let second = bind(host, port..=last).unwrap().local_addr().unwrap().port();
        assert!((port + 1..=last).contains(&second));
        let refusal = bind(host, port..=port).unwrap_err();
        assert!(refusal.to_string().contains("no port of"), "{refusal}");
    }
}
