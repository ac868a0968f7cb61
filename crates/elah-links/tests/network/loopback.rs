//! Calls over TCP without TLS, which stay on loopback; and addresses that are refused.

use elah_links::{Fate, Refusal};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::workers::{LONG, Node, in_loop};

fn plain(name: &str, host: &str) -> Node {
    let node = Node::open(TempDir::new().unwrap(), name, host, None).unwrap();
    node.links.identify("shop", 1).unwrap();
    node
}

fn refusal(node: &Node, address: &str) -> String {
    match node.start(address, b"x", LONG) {
        Err(refusal @ Refusal::Unreachable { .. }) => refusal.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_a_certificate_only_loopback_is_listened_on_and_called() {
    in_loop(async {
        for host in ["10.0.0.1", "0.0.0.0", "::", "192.0.2.7", "fd00::1"] {
            let refusal = Node::open(TempDir::new().unwrap(), "node1", host, None).err().unwrap().to_string();
            assert!(refusal.contains("so it needs mutual TLS") || refusal.contains("one address of this machine"), "{refusal}");
        }
        for name in ["", "10.0.0.1", "a b", "-a"] {
            let refusal = Node::open(TempDir::new().unwrap(), name, "127.0.0.1", None).err().unwrap().to_string();
            assert!(refusal.contains("cannot be the name of a node"), "{refusal}");
        }
        let node = plain("node1", "127.0.0.1");
        assert!(refusal(&node, "tcp://node2@10.0.0.1:9400").contains("needs tls:// instead of tcp://"));
        assert!(refusal(&node, "tls://node2@127.0.0.1:9400").contains("this worker has no certificate"));
        assert!(refusal(&node, "tls://node2").contains("is not of the form tls://NODE@HOST:PORT/WRITER"));
    });
}

#[test]
fn workers_of_one_user_call_each_other_on_loopback() {
    in_loop(async {
        let (one, two) = (plain("node1", "127.0.0.1"), plain("node2", "127.0.0.2"));
        assert_eq!(two.address(), format!("tcp://node2@127.0.0.2:{}", two.port()));
        let outcome = one.echo(&two, b"abc").await;
        assert_eq!((outcome.fate, &outcome.parts[0][..]), (Fate::Replied, &b"cba"[..]));
        let cause = one.fate(&format!("tcp://node3@127.0.0.2:{}", two.port())).await;
        assert_eq!(cause, Fate::NotRun("it is the node \"node2\", not \"node3\"".to_owned()));
        let path = two.own_path();
        let by_path = one.start(path.to_str().unwrap(), b"x", LONG).unwrap();
        two.links.reply(two.next_call().await.key, 1, b"");
        assert_eq!(one.outcome(by_path).await.fate, Fate::Replied, "paths and TCP side by side");
    });
}

#[test]
fn bytes_that_are_no_hello_close_the_connection() {
    in_loop(async {
        let node = plain("node1", "127.0.0.1");
        for bytes in [&b"\xff\xff\xff\xff"[..], b"\x0d\0\0\0\x02xxxxxxxxxxxx", b"\x09\0\0\0\0NOTALINK"] {
            let mut stream = TcpStream::connect(node.socket_address()).await.unwrap();
            stream.write_all(bytes).await.unwrap();
            let mut received = Vec::new();
            let _ = stream.read_to_end(&mut received).await;
            assert!(received.windows(8).any(|window| window == b"ELAHLINK"), "it says hello at once");
        }
        assert!(node.complaint().await.starts_with("A link from 127.0.0.1:"));
        assert_eq!(node.links.open_incoming(), 0);
    });
}

#[cfg(feature = "tls")]
#[test]
fn ends_with_and_without_a_certificate_do_not_meet() {
    in_loop(async {
        let (without, with) =
            (plain("node1", "127.0.0.1"), Node::with_certificate(&super::certificates::Authority::new("shop"), "node2"));
        assert!(refusal(&with, &without.address()).contains("is called without TLS, and this worker has a certificate"));
        let fate = without.fate(&format!("tcp://node2@127.0.0.1:{}", with.port())).await;
        assert!(matches!(fate, Fate::NotRun(_)), "{fate:?}");
        let fate = with.fate(&format!("tls://node1@127.0.0.1:{}", without.port())).await;
        assert!(matches!(&fate, Fate::NotRun(cause) if cause.contains("does not speak TLS")), "{fate:?}");
    });
}

#[cfg(not(feature = "tls"))]
#[test]
fn a_build_without_tls_says_so() {
    in_loop(async {
        let folder = TempDir::new().unwrap();
        let files = super::workers::files(folder.path());
        let refusal = Node::open(folder, "node1", "127.0.0.1", Some(files)).err().unwrap().to_string();
        assert!(refusal.contains("this build has no TLS"), "{refusal}");
    });
}
