//! Calls over TCP with mutual TLS: who is accepted, what becomes of calls, and new certificates.

use std::sync::Arc;
use std::time::{Duration, Instant};

use elah_links::{Fate, Refusal};
use rcgen::ExtendedKeyUsagePurpose;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, ServerName};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, spawn_local};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::certificates::{Authority, replace};
use super::strangers::{ALPN, chain, client, server};
use super::workers::{LONG, Node, PATIENCE, files, in_loop, until};

fn not_run(fate: Fate) -> String {
    match fate {
        Fate::NotRun(cause) => cause,
        other => panic!("{other:?}"),
    }
}

/// Wants `node` of the worker, whatever its name.
fn address_as(node: &str, other: &Node) -> String {
    format!("tls://{node}@127.0.0.1:{}", other.port())
}

/// Reads until the other end closes.
async fn closed(mut stream: impl tokio::io::AsyncRead + Unpin) {
    let reading = async { while stream.read(&mut [0; 1000]).await.is_ok_and(|count| count > 0) {} };
    tokio::time::timeout(PATIENCE, reading).await.expect("the connection is closed");
}

#[test]
fn calls_and_their_deadlines_travel_both_ways() {
    in_loop(async {
        let authority = Authority::new("shop");
        let (one, two) = (Node::with_certificate(&authority, "node1"), Node::with_certificate(&authority, "node2"));
        assert_eq!(two.address(), format!("tls://node2@127.0.0.1:{}", two.port()));
        let wait = one.start(&two.address(), b"forth", Duration::from_secs(200)).unwrap();
        let call = two.next_call().await;
        assert_eq!(&call.payload[..], b"forth");
        assert!(call.remaining <= Duration::from_secs(200) && call.remaining > Duration::from_secs(50));
        assert!(two.links.reply(call.key, 1, b"back"));
        let outcome = one.outcome(wait).await;
        assert_eq!((outcome.fate, &outcome.parts[0][..]), (Fate::Replied, &b"back"[..]));
        assert!(one.links.states()[0].is_connected);

        let wait = one.start(&format!("tls://node2@localhost:{}", two.port()), b"by name", LONG).unwrap();
        two.links.reply(two.next_call().await.key, 1, b"");
        assert_eq!(one.outcome(wait).await.fate, Fate::Replied, "of several addresses, the one that accepts");

        let long: Vec<u8> = (0..1_900_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        let outcome = two.echo(&one, &long).await;
        assert_eq!(outcome.parts[0].len(), long.len());
        assert!(outcome.parts[0].iter().rev().eq(long.iter()), "in many records");
        assert_eq!((one.links.next_complaint(), two.links.next_complaint()), (None, None));
    });
}

#[test]
fn what_is_cancelled_or_too_late_is_not_run() {
    in_loop(async {
        let authority = Authority::new("shop");
        let (one, two) = (Node::with_certificate(&authority, "node1"), Node::with_certificate(&authority, "node2"));
        one.start(&two.address(), b"late", Duration::ZERO).unwrap();
        let cancelled = one.start(&two.address(), b"cancelled", LONG).unwrap();
        one.links.take(cancelled).unwrap();
        let wait = one.start(&two.address(), b"in time", LONG).unwrap();
        let call = two.next_call().await;
        assert_eq!(&call.payload[..], b"in time");
        one.links.take(wait).unwrap();
        assert_eq!(until("the call is cancelled there", || two.links.take_cancelled().pop()).await, call.key);
    });
}

#[test]
fn another_authority_is_refused_at_both_ends_and_reported_once() {
    in_loop(async {
        let one = Node::with_certificate(&Authority::new("shop"), "node1");
        let two = Node::with_certificate(&Authority::new("other"), "node2");
        for _ in 0..3 {
            let cause = not_run(one.fate(&two.address()).await);
            assert!(cause.contains("no authority of the cluster has signed it"), "{cause}");
        }
        let complaint = one.complaint().await;
        assert!(complaint.starts_with(&format!("The link to {} was not made: its certificate", two.address())), "{complaint}");
        assert_eq!(one.links.next_complaint(), None);
        let complaint = two.complaint().await;
        assert!(complaint.contains("it does not accept this node's certificate: another authority"), "{complaint}");
        assert_eq!(two.links.open_incoming(), 0);
    });
}

#[test]
fn authorities_of_the_same_name_are_told_apart() {
    in_loop(async {
        let one = Node::with_certificate(&Authority::new("shop"), "node1");
        let two = Node::with_certificate(&Authority::new("shop"), "node2");
        let cause = not_run(one.fate(&two.address()).await);
        assert!(cause.contains("no authority of the cluster has signed it"), "{cause}");
    });
}

#[test]
fn another_node_than_the_wanted_one_is_not_called() {
    in_loop(async {
        let authority = Authority::new("shop");
        let (one, two) = (Node::with_certificate(&authority, "node1"), Node::with_certificate(&authority, "node2"));
        let cause = not_run(one.fate(&address_as("node3", &two)).await);
        assert!(cause.contains("it must name node3 as a DNS name in subjectAltName, and names node2"), "{cause}");
        assert_eq!(two.links.open_incoming(), 0);
        assert_eq!(one.echo(&two, b"x").await.fate, Fate::Replied, "the right name is");
    });
}

#[test]
fn another_cluster_or_writer_is_not_called() {
    in_loop(async {
        let authority = Authority::new("shop");
        let (one, two) = (Node::with_certificate(&authority, "node1"), Node::with_certificate(&authority, "node2"));
        let cause = not_run(one.fate(&format!("{}/2", two.address())).await);
        assert_eq!(cause, "it is writer 1 now, not 2");
        assert_eq!(one.links.next_complaint(), None, "a worker that was replaced is nobody's mistake");
        two.links.identify("shop", 2).unwrap();
        let wait = until("the right writer is called", || one.start(&format!("{}/2", two.address()), b"x", LONG).ok()).await;
        two.links.reply(two.next_call().await.key, 1, b"");
        assert_eq!(one.outcome(wait).await.fate, Fate::Replied);

        two.links.identify("bank", 2).unwrap();
        let cause = not_run(one.fate(&two.address()).await);
        assert_eq!(cause, "it belongs to the cluster \"bank\", and this worker to \"shop\"");
        assert!(one.complaint().await.contains("cluster \"bank\""));
        assert!(two.complaint().await.contains("cluster \"shop\""));
    });
}

#[test]
fn nobody_is_called_before_the_worker_has_its_number() {
    in_loop(async {
        let authority = Authority::new("shop");
        let one = Node::with_certificate(&authority, "node1");
        let folder = TempDir::new().unwrap();
        let certificate = authority.files(folder.path(), "node2");
        let two = Node::open(folder, "node2", "127.0.0.1", Some(certificate)).unwrap();
        let refusal = two.start(&one.address(), b"x", LONG).unwrap_err().to_string();
        assert!(refusal.contains("has no number in a cluster yet"), "{refusal}");
        let waiting = one.start(&two.address(), b"x", LONG).unwrap();
        two.links.identify("shop", 2).unwrap();
        two.links.reply(two.next_call().await.key, 1, b"");
        assert_eq!(one.outcome(waiting).await.fate, Fate::Replied, "the connection waits in the backlog");
        assert!(two.links.identify("", 2).is_err());
        assert!(two.links.identify(&"x".repeat(256), 2).is_err());
    });
}

/// Connects to the node with TLS of its own, sends `bytes`, and waits until the connection is closed.
async fn handshake(node: &Node, config: Arc<rustls::ClientConfig>, bytes: &[u8]) {
    let stream = TcpStream::connect(node.socket_address()).await.unwrap();
    let name = ServerName::try_from(node.name()).unwrap();
    if let Ok(mut stream) = TlsConnector::from(config).connect(name, stream).await {
        let _ = stream.write_all(bytes).await;
        closed(stream).await;
    }
}

/// A hello frame with these fields.
fn hello(version: u16, writer: u64, cluster: &str, node: &str) -> Vec<u8> {
    let mut body = b"\0ELAHLINK".to_vec();
    body.extend(version.to_le_bytes());
    body.extend(writer.to_le_bytes());
    for text in [cluster, node] {
        body.push(text.len() as u8);
        body.extend(text.as_bytes());
    }
    let mut frame = (body.len() as u32).to_le_bytes().to_vec();
    frame.extend(body);
    frame
}

#[test]
fn strangers_are_refused_with_a_reason_and_leave_nothing_behind() {
    in_loop(async {
        let (authority, other) = (Authority::new("shop"), Authority::new("other"));
        let node = Node::with_certificate(&authority, "node1");
        let sign = |name: &str| Some(authority.sign(name));
        let server_only = |params: &mut rcgen::CertificateParams| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        };
        let frames = [hello(1, 7, "shop", "node2"), vec![21, 0, 0, 0, 1], vec![1; 20]].concat();
        let cases = [
            (client(&authority, None, &[ALPN]), frames.clone(), "it presented no certificate"),
            (client(&authority, Some(other.sign("node2")), &[ALPN]), frames.clone(), "no authority of the cluster has signed it"),
            (client(&authority, Some(authority.sign_expired("node2")), &[ALPN]), frames.clone(), "it has expired"),
            (client(&authority, Some(authority.sign_with("node2", server_only)), &[ALPN]), frames.clone(), "extended key usage"),
            (
                client(&authority, sign("node3"), &[ALPN]),
                frames.clone(),
                "the node \"node2\", which its certificate does not name",
            ),
            (client(&authority, sign("node2"), &[]), frames.clone(), "another protocol"),
            (client(&authority, sign("node2"), &[b"h2"]), frames.clone(), "another protocol"),
            (client(&authority, sign("node2"), &[ALPN]), hello(9, 7, "shop", "node2"), "it speaks version 9, and this worker 1"),
            (client(&authority, sign("node2"), &[ALPN]), hello(2, 7, "bank", "node2"), "the cluster \"bank\""),
            (client(&authority, sign("node2"), &[ALPN]), b"\x0b\0\0\0\0ELAHLINK\x01\0".to_vec(), "it did not say who it is"),
            (client(&authority, sign("node2"), &[ALPN]), b"GET / HTTP/1.1\r\n\r\n".to_vec(), "frame of 542393671 bytes"),
        ];
        for (config, bytes, reason) in cases {
            // At most one a second is reported.
            let give_up_at = Instant::now() + PATIENCE;
            let complaint = loop {
                handshake(&node, Arc::clone(&config), &bytes).await;
                if let Some(complaint) = node.links.next_complaint() {
                    break complaint;
                }
                assert!(Instant::now() < give_up_at, "{reason}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            };
            assert!(complaint.starts_with("A link from 127.0.0.1:") && complaint.contains(reason), "{reason}: {complaint}");
        }
        assert_eq!(node.links.open_incoming(), 0);
        let friend = Node::with_certificate(&authority, "node2");
        assert_eq!(friend.echo(&node, b"x").await.fate, Fate::Replied);
    });
}

#[test]
fn plain_text_and_garbage_are_refused() {
    in_loop(async {
        let authority = Authority::new("shop");
        let (node, friend) = (Node::with_certificate(&authority, "node1"), Node::with_certificate(&authority, "node2"));
        let mut random = elah_fuzz::Random::new(7);
        for turn in 0..200 {
            let mut stream = TcpStream::connect(node.socket_address()).await.unwrap();
            let garbage = match turn {
                0 => hello(1, 7, "shop", "node2"),
                1 => b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
                // Like the beginning of a handshake.
                _ if turn % 2 == 0 => [b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03".to_vec(), random.bytes(600)].concat(),
                _ => random.bytes(600),
            };
            let _ = stream.write_all(&garbage).await;
            let _ = stream.shutdown().await;
            closed(stream).await;
        }
        assert!(node.complaint().await.contains("it does not speak TLS 1.3"));
        assert_eq!(friend.echo(&node, b"x").await.fate, Fate::Replied);
    });
}

#[test]
fn connections_that_say_nothing_neither_hold_up_others_nor_stay() {
    in_loop(async {
        let authority = Authority::new("shop");
        let (node, friend) = (Node::with_certificate(&authority, "node1"), Node::with_certificate(&authority, "node2"));
        let mut silent = Vec::new();
        for _ in 0..100 {
            silent.push(TcpStream::connect(node.socket_address()).await.unwrap());
        }
        assert_eq!(friend.echo(&node, b"x").await.fate, Fate::Replied, "more than may wait for a handshake");
        for stream in silent {
            closed(stream).await;
        }
        assert!(node.complaint().await.contains("did not finish the handshake within 5 s"));
        assert!(friend.links.states()[0].is_connected, "who has been greeted stays");
    });
}

/// Replies to nothing: accepts a connection with TLS and reads.
async fn silent_server(config: Arc<ServerConfig>) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = spawn_local(async move {
        let acceptor = TlsAcceptor::from(config);
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                closed(stream).await;
            }
        }
    });
    (port, serving)
}

#[test]
fn a_server_that_is_no_node_runs_nothing() {
    in_loop(async {
        let authority = Authority::new("shop");
        let one = Node::with_certificate(&authority, "node1");
        let (expired, right) = (authority.sign_expired("node2"), authority.sign("node2"));
        for (config, reason) in [
            (server(&expired, &[ALPN]), "it has expired"),
            (server(&right, &[]), "another protocol"),
            (server(&right, &[b"h2"]), "another protocol"),
            (server(&right, &[ALPN]), "did not finish the handshake within 5 s"),
        ] {
            let (port, serving) = silent_server(config).await;
            let cause = not_run(one.fate(&format!("tls://node2@127.0.0.1:{port}")).await);
            assert!(cause.contains(reason), "{reason}: {cause}");
            serving.abort();
        }
        let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let cause = not_run(one.fate(&format!("tls://node2@127.0.0.1:{nobody}")).await);
        assert!(cause.contains("refused"), "{cause}");
        let cause = not_run(one.fate("tls://node2@nobody.invalid:1").await);
        assert!(!cause.is_empty());
    });
}

/// Forwards connections to a node, until it is aborted.
async fn proxy_to(node: &Node) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("tls://{}@127.0.0.1:{}", node.name(), listener.local_addr().unwrap().port());
    let to = node.socket_address();
    let forwarding = spawn_local(async move {
        let (mut from, _) = listener.accept().await.unwrap();
        let mut to = TcpStream::connect(to).await.unwrap();
        let _ = copy_bidirectional(&mut from, &mut to).await;
    });
    (address, forwarding)
}

#[test]
fn a_call_that_is_cut_off_may_have_run_and_one_that_waits_has_not() {
    in_loop(async {
        let authority = Authority::new("shop");
        let (one, two) = (Node::with_certificate(&authority, "node1"), Node::with_certificate(&authority, "node2"));
        let (address, cable) = proxy_to(&two).await;
        let lost = one.start(&address, b"x", LONG).unwrap();
        let call = two.next_call().await;
        cable.abort();
        assert!(matches!(one.outcome(lost).await.fate, Fate::Lost(_)));
        assert_eq!(until("it is cancelled", || two.links.take_cancelled().pop()).await, call.key);

        let waiting = until("a connection is attempted", || one.start(&address, b"x", LONG).ok()).await;
        assert!(matches!(one.outcome(waiting).await.fate, Fate::NotRun(_)), "nobody listens there any more");
    });
}

#[test]
fn links_that_are_closed_end_connections_that_are_being_made() {
    in_loop(async {
        let authority = Authority::new("shop");
        let one = Node::with_certificate(&authority, "node1");
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("tls://node2@127.0.0.1:{}", silent.local_addr().unwrap().port());
        let wait = one.start(&address, b"x", LONG).unwrap();
        let (stream, _) = silent.accept().await.unwrap();
        one.links.retain(&[]);
        assert_eq!(not_run(one.outcome(wait).await.fate), "the link was closed");
        closed(stream).await;
        one.links.close();
        assert!(matches!(one.start(&address, b"x", LONG), Err(Refusal::Closed)));
        assert!(TcpStream::connect(one.socket_address()).await.is_err(), "it does not listen any more");
    });
}

/// The certificate that the node presents now.
async fn presented(node: &Node, config: &Arc<rustls::ClientConfig>) -> CertificateDer<'static> {
    let stream = TcpStream::connect(node.socket_address()).await.unwrap();
    let name = ServerName::try_from(node.name()).unwrap();
    let stream = TlsConnector::from(Arc::clone(config)).connect(name, stream).await.unwrap();
    stream.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned()
}

async fn until_presented(node: &Node, config: &Arc<rustls::ClientConfig>, pem: &str) {
    let give_up_at = Instant::now() + PATIENCE;
    while presented(node, config).await != chain(pem)[0] {
        assert!(Instant::now() < give_up_at, "the new certificate is used");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn a_new_certificate_is_used_while_calls_run() {
    in_loop(async {
        let authority = Authority::new("shop");
        let (one, two) = (Node::with_certificate(&authority, "node1"), Node::with_certificate(&authority, "node2"));
        let running = one.start(&two.address(), b"x", LONG).unwrap();
        let call = two.next_call().await;
        let config = client(&authority, Some(authority.sign("node9")), &[ALPN]);
        let old = presented(&two, &config).await;

        replace(&two.files().certificate, "not a certificate");
        let give_up_at = Instant::now() + PATIENCE;
        let complaint = loop {
            assert_eq!(presented(&two, &config).await, old, "a broken file changes nothing");
            match two.links.next_complaint() {
                Some(complaint) if complaint.contains("new certificate") => break complaint,
                _ => assert!(Instant::now() < give_up_at, "the broken file is noticed"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        assert!(complaint.contains("node.pem: it contains no certificate in PEM form"), "{complaint}");

        let (certificate, key) = authority.sign("node2");
        replace(&two.files().key, &key);
        replace(&two.files().certificate, &certificate);
        until_presented(&two, &config, &certificate).await;
        let complaints: Vec<_> = std::iter::from_fn(|| two.links.next_complaint()).collect();
        assert!(complaints.iter().all(|complaint| !complaint.contains("no certificate in PEM form")), "once: {complaints:?}");

        assert!(two.links.reply(call.key, 1, b"still"));
        assert_eq!(one.outcome(running).await.fate, Fate::Replied, "the connection stays");
        let three = Node::with_certificate(&authority, "node3");
        assert_eq!(three.echo(&two, b"x").await.fate, Fate::Replied);
    });
}

#[test]
fn authorities_are_replaced_by_way_of_both() {
    in_loop(async {
        let (old, new) = (Authority::new("old"), Authority::new("new"));
        let (one, two) = (Node::with_certificate(&old, "node1"), Node::with_certificate(&old, "node2"));
        let newcomer = Node::with_certificate(&new, "node3");
        let both = format!("{}{}", old.pem(), new.pem());
        for node in [&one, &two, &newcomer] {
            replace(&node.files().authority, &both);
        }
        let give_up_at = Instant::now() + PATIENCE;
        while !matches!(attempt(&newcomer, &one).await, Fate::Replied) {
            assert!(Instant::now() < give_up_at, "both authorities count");
        }
        while !matches!(attempt(&two, &newcomer).await, Fate::Replied) {
            assert!(Instant::now() < give_up_at, "both authorities count");
        }
    });
}

/// The fate of a call, whether it arrives or not.
async fn attempt(from: &Node, to: &Node) -> Fate {
    let wait = until("a connection is attempted", || from.start(&to.address(), b"x", LONG).ok()).await;
    until("it has an outcome", || {
        if let Some(call) = to.links.next_incoming() {
            to.links.reply(call.key, 1, b"");
        }
        from.links.is_settled(wait).then(|| from.links.take(wait).unwrap().fate)
    })
    .await
}

#[test]
fn certificates_that_others_would_refuse_are_refused_at_the_start() {
    in_loop(async {
        let (authority, other) = (Authority::new("shop"), Authority::new("other"));
        let sign = |name: &str| authority.sign(name);
        let client_only = authority.sign_with("node1", |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        });
        for ((certificate, key), reason) in [
            (sign("node2"), "it must name node1 as a DNS name in subjectAltName, and names"),
            (other.sign("node1"), "no authority of the cluster has signed it"),
            (authority.sign_expired("node1"), "it has expired"),
            ((sign("node1").0, sign("node1").1), "the private key belongs to another certificate"),
            (client_only, "must allow both serverAuth and clientAuth"),
            ((String::new(), sign("node1").1), "node.pem: it contains no certificate"),
            ((sign("node1").0, String::new()), "node.key: it contains no private key"),
        ] {
            let folder = TempDir::new().unwrap();
            let files = files(folder.path());
            replace(&files.authority, &authority.pem());
            replace(&files.certificate, &certificate);
            replace(&files.key, &key);
            let refusal = Node::open(folder, "node1", "127.0.0.1", Some(files)).err().unwrap().to_string();
            assert!(refusal.contains(reason), "{reason}: {refusal}");
        }
        let folder = TempDir::new().unwrap();
        let missing = files(folder.path());
        let refusal = Node::open(folder, "node1", "127.0.0.1", Some(missing)).err().unwrap().to_string();
        assert!(refusal.contains("node.pem: No such file"), "{refusal}");
    });
}

#[test]
fn a_certificate_that_expires_within_a_week_is_reported_at_the_start() {
    in_loop(async {
        let authority = Authority::new("shop");
        for (days, is_reported) in [(3, true), (30, false)] {
            let folder = TempDir::new().unwrap();
            let files = authority.files(folder.path(), "node1");
            let now = std::time::SystemTime::now();
            let (certificate, key) = authority.sign_with("node1", |params| {
                params.not_after = (now + Duration::from_secs(days * 24 * 3600 + 3600)).into();
            });
            replace(&files.certificate, &certificate);
            replace(&files.key, &key);
            let node = Node::open(folder, "node1", "127.0.0.1", Some(files)).unwrap();
            if is_reported {
                let complaint = node.complaint().await;
                assert!(complaint.contains("node.pem expires in 3 d: replace the file"), "{complaint}");
            }
            node.links.identify("shop", 1).unwrap();
            assert_eq!(attempt(&node, &node).await, Fate::Replied);
            assert_eq!(node.links.next_complaint(), None, "not at each handshake");
        }
    });
}
