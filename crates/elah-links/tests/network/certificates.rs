//! Authorities, the certificates that they sign, and nodes that have one.

use std::path::Path;

use elah_links::TlsFiles;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use tempfile::TempDir;

use super::workers::{Node, files};

/// An authority and the certificates that it signs.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Authority { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Certificate and key of a node, in PEM form.
    pub(crate) fn sign(&self, node: &str) -> (String, String) {
        self.sign_with(node, |_| {})
    }

    pub(crate) fn sign_with(&self, node: &str, change: impl FnOnce(&mut CertificateParams)) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![node.to_owned()]).unwrap();
        change(&mut params);
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    pub(crate) fn sign_expired(&self, node: &str) -> (String, String) {
        self.sign_with(node, |params| {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        })
    }

    /// Writes the files of a node's certificate into a folder.
    pub(crate) fn files(&self, folder: &Path, node: &str) -> TlsFiles {
        let files = files(folder);
        replace(&files.authority, &self.pem());
        let (certificate, key) = self.sign(node);
        replace(&files.certificate, &certificate);
        replace(&files.key, &key);
        files
    }
}

/// Replaces a file as administrators do, so that nobody reads half of it.
pub(crate) fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, path).unwrap();
}

impl Node {
    /// A node that is already a member of the cluster "shop", as writer 1.
    pub(crate) fn with_certificate(authority: &Authority, name: &str) -> Node {
        let folder = TempDir::new().unwrap();
        let files = authority.files(folder.path(), name);
        let node = Node::open(folder, name, "127.0.0.1", Some(files)).unwrap();
        node.links.identify("shop", 1).unwrap();
        node
    }

    pub(crate) fn files(&self) -> TlsFiles {
        files(self.folder.path())
    }

    pub(crate) fn name(&self) -> String {
        self.address().split(['/', '@']).nth(2).unwrap().to_owned()
    }
}
