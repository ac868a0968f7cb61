//! The TLS configuration of a connection.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::error::Error;
use super::settings::{Settings, TlsMode};

/// The configuration of rustls for the mode of the settings.
pub(super) fn client_config(settings: &Settings) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|cause| Error::Misconfigured(format!("TLS cannot be set up: {cause}")))?;
    Ok(match settings.tls_mode {
        TlsMode::VerifyFull => builder.with_root_certificates(authorities(settings)?).with_no_client_auth(),
        TlsMode::Disable | TlsMode::Prefer | TlsMode::Require => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone(provider))).with_no_client_auth()
        }
    })
}

fn authorities(settings: &Settings) -> Result<RootCertStore, Error> {
    let path = settings.ca_file.as_deref().unwrap_or_else(|| "".as_ref());
    // Read for each connection: while the file is replaced, or without a free descriptor, this passes.
    let unreadable = |cause: String| Error::Unreachable {
        server: Arc::clone(&settings.server),
        cause: format!("the authorities in {} cannot be read: {cause}", path.display()),
    };
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|cause| unreadable(cause.to_string()))? {
        let certificate = certificate.map_err(|cause| unreadable(cause.to_string()))?;
        store.add(certificate).map_err(|cause| unreadable(cause.to_string()))?;
    }
    if store.is_empty() {
        return Err(unreadable("it contains no certificate".to_owned()));
    }
    Ok(store)
}

/// Accepts any certificate, as `sslmode=require` means it: encrypted, without checking the server's identity.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
