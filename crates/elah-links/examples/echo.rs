//! Round trips of a payload between two threads: over links with and without TLS, and over rustls alone. Prints the medians.
//!
//! `cargo run --release -p elah-links --example echo -- [--calls N] [--rounds N] [--bytes N] [--only unix|tls|bare]`
#![allow(clippy::unwrap_used, reason = "it ends the program, and names the line")]

use std::future::poll_fn;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::time::{Duration, Instant};

use elah_links::{Bounds, Fate, Links, Port, TcpSettings, TlsFiles};
use elah_loop::wake::LocalWaker;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;
use tokio_rustls::{TlsAcceptor, TlsConnector};

const LONG: Duration = Duration::from_secs(3600);

/// Bytes of a frame beside the payload of a call, and of a reply.
const CALL_BYTES: usize = 25;
const REPLY_BYTES: usize = 17;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| arguments.iter().position(|argument| argument == name).map(|index| arguments[index + 1].clone());
    let number = |name: &str, default: usize| option(name).map_or(default, |text| text.parse().unwrap());
    let (calls, rounds, bytes) = (number("--calls", 20_000), number("--rounds", 9), number("--bytes", 16));
    let kinds: Vec<_> =
        ["unix", "tls", "bare"].into_iter().filter(|kind| option("--only").is_none_or(|only| only == *kind)).collect();
    let folder = tempfile::tempdir().unwrap();
    write_certificates(folder.path());
    let mut medians = vec![Vec::new(); kinds.len()];
    for round in 0..rounds {
        for (index, kind) in kinds.iter().enumerate() {
            let place = folder.path().join(format!("{round}-{kind}"));
            medians[index].push(run(kind, folder.path(), &place, calls, bytes));
        }
    }
    let figures: Vec<_> = medians.iter_mut().map(|all| median(all)).collect();
    for (kind, figure) in kinds.iter().zip(&figures) {
        println!("{kind:<5} {:>7.1} µs", figure * 1e6);
    }
    if let [_, tls, bare] = figures[..] {
        println!("tls/bare {:.2}", tls / bare);
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The median of a round trip, in seconds.
fn run(kind: &str, certificates: &Path, place: &Path, calls: usize, bytes: usize) -> f64 {
    let (say_address, address) = mpsc::channel();
    let owner = {
        let (kind, certificates, place) = (kind.to_owned(), certificates.to_owned(), place.join("owner/sock"));
        std::thread::spawn(move || match kind.as_str() {
            "bare" => in_loop(serve_bare(&certificates, say_address)),
            _ => in_loop(serve_links(&certificates, &place, kind == "tls", say_address)),
        })
    };
    let address = address.recv().unwrap();
    let mut times = match kind {
        "bare" => in_loop(call_bare(certificates, &address, calls, bytes)),
        _ => in_loop(call_links(certificates, &place.join("caller/sock"), &address, calls, bytes)),
    };
    owner.join().unwrap();
    median(&mut times)
}

fn in_loop<R>(work: impl Future<Output = R>) -> R {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, work)
}

fn open(certificates: &Path, place: &Path, is_secured: bool) -> (Rc<Links>, LocalWaker) {
    let bounds = Bounds { links_max: 10, calls_max: 100, waiting_bytes_max: 1 << 23, payload_bytes_max: 1 << 22 };
    let tls = is_secured.then(|| TlsFiles {
        certificate: certificates.join("node.pem"),
        key: certificates.join("node.key"),
        authority: certificates.join("authority.pem"),
    });
    let tcp = |tls| TcpSettings { host: [127, 0, 0, 1].into(), ports: 0..=0, node: "node".to_owned(), tls: Some(tls) };
    let port = tls.map(|tls| Port::bind(tcp(tls)).unwrap());
    let waker = LocalWaker::default();
    let (links, work) = Links::open(place, bounds, port, waker.clone()).unwrap();
    tokio::task::spawn_local(work);
    if is_secured {
        links.identify("bench", 1).unwrap();
    }
    (Rc::new(links), waker)
}

/// Replies to each call with its payload, until one is empty.
async fn serve_links(certificates: &Path, place: &Path, is_secured: bool, say_address: mpsc::Sender<String>) {
    let (links, waker) = open(certificates, place, is_secured);
    say_address.send(links.address().unwrap_or_else(|| place.to_str().unwrap().to_owned())).unwrap();
    loop {
        links.expect(1);
        let call = ended(&waker, || links.next_incoming()).await;
        links.reply(call.key, 1, &call.payload);
        if call.payload.is_empty() {
            return ended(&waker, || (links.open_incoming() == 0 && links.unread_bytes() == 0).then_some(())).await;
        }
    }
}

async fn call_links(certificates: &Path, place: &Path, address: &str, calls: usize, bytes: usize) -> Vec<f64> {
    let (links, waker) = open(certificates, place, address.starts_with("tls://"));
    let payload = vec![7; bytes];
    let mut times = Vec::new();
    for wait in 2..calls as u64 + 2 {
        let began_at = Instant::now();
        links.call(address, &payload, 1, LONG, wait).unwrap();
        ended(&waker, || links.is_settled(wait).then_some(())).await;
        times.push(began_at.elapsed().as_secs_f64());
        assert_eq!(links.take(wait).unwrap().fate, Fate::Replied);
    }
    links.call(address, b"", 1, LONG, 1).unwrap();
    ended(&waker, || links.is_settled(1).then_some(())).await;
    times
}

/// Waits as the loop of a worker does.
async fn ended<R>(waker: &LocalWaker, mut look: impl FnMut() -> Option<R>) -> R {
    poll_fn(|context| {
        waker.register_iteration(context.waker());
        waker.drain_into(&mut Vec::new());
        look().map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

async fn serve_bare(certificates: &Path, say_address: mpsc::Sender<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (chain, key, authorities) = read_certificates(certificates);
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), Arc::clone(&provider)).build().unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .unwrap();
    say_address.send(listener.local_addr().unwrap().to_string()).unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut stream = TlsAcceptor::from(Arc::new(config)).accept(stream).await.unwrap();
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        stream.write_all(&buffer[..count]).await.unwrap();
        stream.flush().await.unwrap();
    }
}

/// Sends as many bytes as a call and its reply have on average.
async fn call_bare(certificates: &Path, address: &str, calls: usize, bytes: usize) -> Vec<f64> {
    let (chain, key, authorities) = read_certificates(certificates);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_root_certificates(authorities)
        .with_client_auth_cert(chain, key)
        .unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let name = ServerName::try_from("node").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    let message = vec![7; bytes + (CALL_BYTES + REPLY_BYTES) / 2];
    let mut buffer = message.clone();
    let mut times = Vec::new();
    for _ in 0..calls {
        let began_at = Instant::now();
        stream.write_all(&message).await.unwrap();
        stream.flush().await.unwrap();
        stream.read_exact(&mut buffer).await.unwrap();
        times.push(began_at.elapsed().as_secs_f64());
    }
    times
}

fn write_certificates(folder: &Path) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let node = CertificateParams::new(vec!["node".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    std::fs::write(folder.join("authority.pem"), authority.pem()).unwrap();
    std::fs::write(folder.join("node.pem"), node.pem()).unwrap();
    std::fs::write(folder.join("node.key"), key.serialize_pem()).unwrap();
}

fn read_certificates(folder: &Path) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>, RootCertStore) {
    let mut authorities = RootCertStore::empty();
    authorities.add_parsable_certificates(CertificateDer::pem_file_iter(folder.join("authority.pem")).unwrap().flatten());
    let chain = CertificateDer::pem_file_iter(folder.join("node.pem")).unwrap().flatten().collect();
    (chain, PrivateKeyDer::from_pem_file(folder.join("node.key")).unwrap(), authorities)
}
