//! The ends of TLS connections that are none of Elah's.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use super::certificates::Authority;

/// The name that links give to their protocol.
pub(crate) const ALPN: &[u8] = b"elah-links";

/// The configuration of a client that is none of Elah's.
pub(crate) fn client(authority: &Authority, own: Option<(String, String)>, alpn: &[&[u8]]) -> Arc<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_root_certificates(roots(authority));
    let mut config = match own {
        Some((certificate, key)) => builder.with_client_auth_cert(chain(&certificate), private_key(&key)).unwrap(),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Arc::new(config)
}

/// The configuration of a server that is none of Elah's, and accepts any client.
pub(crate) fn server((certificate, key): &(String, String), alpn: &[&[u8]]) -> Arc<ServerConfig> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain(certificate), private_key(key))
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Arc::new(config)
}

pub(crate) fn chain(pem: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>().unwrap()
}

fn private_key(pem: &str) -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap()
}

fn roots(authority: &Authority) -> RootCertStore {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(chain(&authority.pem()));
    store
}
