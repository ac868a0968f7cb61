//! Mutual TLS between machines: certificates, their reload and their expiry, and handshakes.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, DnsName, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{AlertDescription, CertificateError, ClientConfig, Error, RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::TlsFiles;
use crate::stream::{Failure, TcpLink, cause_of};

/// The protocol's name in the handshake.
const ALPN: &[u8] = b"elah-links";

/// The files are looked at no more often than this.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// A certificate that expires within this time is reported, and again after each `EXPIRY_REPORT_INTERVAL`.
const EXPIRY_NOTICE: Duration = Duration::from_secs(7 * DAY);
const EXPIRY_REPORT_INTERVAL: Duration = Duration::from_secs(DAY);
const DAY: u64 = 24 * 3600;

/// The certificate of this node, as it was last read from its files.
pub(crate) struct Certificates {
    files: TlsFiles,
    node: DnsName<'static>,
    current: RefCell<Rc<Loaded>>,
    /// Of the files that are in use.
    stamps: Cell<Stamps>,
    /// Files that cannot be used, and the reported cause.
    refused: RefCell<Option<(Stamps, String)>>,
    looked_at: Cell<Instant>,
    expiry_reported_at: Cell<Option<Instant>>,
}

struct Loaded {
    accepting: TlsAcceptor,
    calling: TlsConnector,
    chain: Vec<CertificateDer<'static>>,
    verifier: Arc<WebPkiServerVerifier>,
}

/// What tells one version of a file from another.
type Stamp = (u64, u64, u64, i64, i64, i64);
type Stamps = [Option<Stamp>; 3];

/// The certificate of the other end, which an authority of the cluster has signed.
pub(crate) struct PeerCertificate(CertificateDer<'static>);

impl PeerCertificate {
    pub(crate) fn names(&self, node: &str) -> bool {
        let name = DnsName::try_from(node.to_owned()).map(ServerName::DnsName);
        let certificate = ParsedCertificate::try_from(&self.0);
        matches!((name, certificate), (Ok(name), Ok(certificate)) if verify_server_name(&certificate, &name).is_ok())
    }
}

impl Certificates {
    /// Reads the files. Refuses a certificate that other nodes would refuse.
    pub(crate) fn load(files: TlsFiles, node: &str) -> io::Result<Certificates> {
        let invalid = |cause: String| io::Error::new(io::ErrorKind::InvalidInput, cause);
        let node = DnsName::try_from(node.to_owned()).map_err(|cause| invalid(format!("the node {node:?}: {cause}")))?;
        let stamps = stamps(&files);
        let loaded = Loaded::read(&files, &node).map_err(invalid)?;
        Ok(Certificates {
            files,
            node,
            current: RefCell::new(Rc::new(loaded)),
            stamps: Cell::new(stamps),
            refused: RefCell::new(None),
            looked_at: Cell::new(Instant::now()),
            expiry_reported_at: Cell::new(None),
        })
    }

    /// Reads the files again if they have changed. What cannot be used is reported once, and the old certificate stays in use. It is read
    /// again at each look: the clock of the authority may be ahead, or the read may have failed for lack of descriptors.
    pub(crate) fn refresh(&self, report: &mut dyn FnMut(String)) {
        if self.looked_at.get().elapsed() >= LOOK_INTERVAL {
            self.looked_at.set(Instant::now());
            let stamps = stamps(&self.files);
            if self.stamps.get() != stamps {
                match Loaded::read(&self.files, &self.node) {
                    Ok(loaded) => {
                        *self.current.borrow_mut() = Rc::new(loaded);
                        self.stamps.set(stamps);
                        self.expiry_reported_at.set(None);
                    }
                    Err(cause) => {
                        let sentence = format!("The new certificate is not used, and the old one stays: {cause}.");
                        if self.refused.replace(Some((stamps, cause.clone()))) != Some((stamps, cause)) {
                            report(sentence);
                        }
                    }
                }
            }
        }
        self.report_expiry(report);
    }

    fn report_expiry(&self, report: &mut dyn FnMut(String)) {
        if self.expiry_reported_at.get().is_some_and(|at| at.elapsed() < EXPIRY_REPORT_INTERVAL) {
            return;
        }
        let now = UnixTime::now();
        let Some(expiry) = self.current.borrow().expiry_before(&self.node, now.as_secs() + EXPIRY_NOTICE.as_secs()) else {
            return;
        };
        self.expiry_reported_at.set(Some(Instant::now()));
        let when = match expiry.checked_sub(now.as_secs()) {
            Some(left) => format!("expires in {}", span(left)),
            None => format!("expired {} ago, so other machines refuse new connections", span(now.as_secs() - expiry)),
        };
        let path = self.files.certificate.display();
        report(format!("The certificate in {path} {when}: replace the file; it is read without a restart."));
    }

    pub(crate) async fn accept(&self, stream: TcpStream) -> Result<(TcpLink, PeerCertificate), Failure> {
        let acceptor = self.current.borrow().accepting.clone();
        let stream = acceptor.accept(stream).await.map_err(|cause| failure(&cause))?;
        let session = stream.get_ref().1;
        let certificate = session.peer_certificates().and_then(|chain| chain.first()).cloned();
        let certificate = certificate.ok_or_else(|| Failure::Refused("it presented no certificate".to_owned()))?;
        speaks_links(session.alpn_protocol())?;
        Ok((Box::new(stream), PeerCertificate(certificate)))
    }

    /// Takes the client's part, and checks that the certificate of the other end names the node.
    pub(crate) async fn connect(&self, stream: TcpStream, node: &str) -> Result<TcpLink, Failure> {
        let connector = self.current.borrow().calling.clone();
        let name = DnsName::try_from(node.to_owned()).map_err(|cause| Failure::Refused(format!("{node:?}: {cause}")))?;
        let stream = connector.connect(ServerName::DnsName(name), stream).await.map_err(|cause| failure(&cause))?;
        speaks_links(stream.get_ref().1.alpn_protocol())?;
        Ok(Box::new(stream))
    }
}

fn speaks_links(protocol: Option<&[u8]>) -> Result<(), Failure> {
    if protocol == Some(ALPN) { Ok(()) } else { Err(Failure::Refused("it speaks another protocol over TLS".to_owned())) }
}

impl Loaded {
    fn read(files: &TlsFiles, node: &DnsName<'static>) -> Result<Loaded, String> {
        let chain = certificates(&files.certificate)?;
        let mut authorities = RootCertStore::empty();
        for authority in certificates(&files.authority)? {
            authorities.add(authority).map_err(|cause| in_file(&files.authority, &explained(&cause)))?;
        }
        let authorities = Arc::new(authorities);
        let key = || {
            let pem = read(&files.key)?;
            PrivateKeyDer::from_pem_slice(&pem).map_err(|_| in_file(&files.key, "it contains no private key in PEM form"))
        };
        let provider = Arc::new(ring::default_provider());
        let unusable = |cause: String| in_file(&files.certificate, &cause);
        let calling_verifier = WebPkiServerVerifier::builder_with_provider(Arc::clone(&authorities), Arc::clone(&provider))
            .build()
            .map_err(|cause| in_file(&files.authority, &cause.to_string()))?;
        let accepting_verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&authorities), Arc::clone(&provider))
            .build()
            .map_err(|cause| in_file(&files.authority, &cause.to_string()))?;
        let (own, intermediates) = chain.split_first().ok_or_else(|| unusable("it contains no certificate".to_owned()))?;
        accepting_verifier
            .verify_client_cert(own, intermediates, UnixTime::now())
            .map_err(|cause| unusable(own_fault(&cause)))?;
        let mut accepting = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(|cause| cause.to_string())?
            .with_client_cert_verifier(accepting_verifier)
            .with_single_cert(chain.clone(), key()?)
            .map_err(|cause| unusable(own_fault(&cause)))?;
        accepting.alpn_protocols = vec![ALPN.to_vec()];
        // A resumed session would skip the look at the certificate.
        accepting.send_tls13_tickets = 0;
        let mut calling = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(|cause| cause.to_string())?
            .with_webpki_verifier(Arc::clone(&calling_verifier))
            .with_client_auth_cert(chain.clone(), key()?)
            .map_err(|cause| unusable(own_fault(&cause)))?;
        calling.alpn_protocols = vec![ALPN.to_vec()];
        calling.resumption = Resumption::disabled();
        let (accepting, calling) = (Arc::new(accepting).into(), Arc::new(calling).into());
        let loaded = Loaded { accepting, calling, chain, verifier: calling_verifier };
        loaded.verify(node, UnixTime::now()).map_err(|cause| unusable(own_fault(&cause)))?;
        Ok(loaded)
    }

    /// Checks the own certificate as another node will.
    fn verify(&self, node: &DnsName<'static>, now: UnixTime) -> Result<(), Error> {
        let Some((own, intermediates)) = self.chain.split_first() else { return Ok(()) };
        self.verifier.verify_server_cert(own, intermediates, &ServerName::DnsName(node.clone()), &[], now).map(|_| ())
    }

    /// When the certificate expires, in seconds since 1970, if that is before `time`.
    fn expiry_before(&self, node: &DnsName<'static>, time: u64) -> Option<u64> {
        match self.verify(node, UnixTime::since_unix_epoch(Duration::from_secs(time))) {
            Err(Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => Some(not_after.as_secs()),
            _ => None,
        }
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let pem = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(in_file(path, "it contains no certificate in PEM form")),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|cause| in_file(path, &cause.to_string()))
}

fn in_file(path: &Path, cause: &str) -> String {
    format!("{}: {cause}", path.display())
}

fn stamps(files: &TlsFiles) -> Stamps {
    [&files.certificate, &files.key, &files.authority].map(|path| {
        let found = std::fs::metadata(path).ok()?;
        Some((found.dev(), found.ino(), found.len(), found.mtime(), found.mtime_nsec(), found.ctime_nsec()))
    })
}

fn span(seconds: u64) -> String {
    match (seconds / DAY, seconds / 3600, seconds / 60) {
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, _) => format!("{hours} h"),
        (days, ..) => format!("{days} d"),
    }
}

fn failure(cause: &io::Error) -> Failure {
    match cause.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(error) => Failure::Refused(explained(error)),
        None => Failure::Lost(cause_of(cause)),
    }
}

/// Why the own certificate cannot be used.
fn own_fault(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(fault) => fault_of(fault),
        Error::InconsistentKeys(_) => "the private key belongs to another certificate".to_owned(),
        other => other.to_string(),
    }
}

/// Why a handshake failed, as the end of a sentence about the other end.
pub(crate) fn explained(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(fault) => format!("its certificate is not accepted: {}", fault_of(fault)),
        Error::NoCertificatesPresented => "it presented no certificate".to_owned(),
        Error::InvalidMessage(_) | Error::PeerMisbehaved(_) | Error::InappropriateMessage { .. } => {
            format!("it does not speak TLS 1.3 ({error})")
        }
        Error::PeerIncompatible(_) | Error::NoApplicationProtocol => {
            format!("it speaks another version of TLS or another protocol ({error})")
        }
        Error::AlertReceived(alert) => match alert {
            AlertDescription::UnknownCA | AlertDescription::DecryptError => {
                "it does not accept this node's certificate: another authority has signed it".to_owned()
            }
            AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnsupportedCertificate => "it does not accept this node's certificate".to_owned(),
            AlertDescription::CertificateExpired => {
                "it does not accept this node's certificate: by its clock, the certificate has expired".to_owned()
            }
            AlertDescription::NoApplicationProtocol => "it speaks another protocol over TLS".to_owned(),
            other => format!("it ended the handshake ({other:?})"),
        },
        other => other.to_string(),
    }
}

fn fault_of(fault: &CertificateError) -> String {
    match fault {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired".to_owned(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet; compare the clocks of the machines".to_owned()
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "no authority of the cluster has signed it".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            // rustls writes them as `DnsName("node1")`.
            let names: Vec<_> = presented.iter().map(|name| name.split('"').nth(1).unwrap_or(name)).collect();
            let names = if names.is_empty() { "no name".to_owned() } else { names.join(", ") };
            format!("it must name {} as a DNS name in subjectAltName, and names {names}", expected.to_str())
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "its extended key usage must allow both serverAuth and clientAuth".to_owned()
        }
        other => Error::InvalidCertificate(other.clone()).to_string(),
    }
}
