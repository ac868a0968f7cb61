//! Stands for `tls.rs` in a build without TLS: refuses certificates.

use std::io;

use tokio::net::TcpStream;

use crate::TlsFiles;
use crate::stream::{Failure, TcpLink};

pub(crate) enum Certificates {}

pub(crate) enum PeerCertificate {}

impl PeerCertificate {
    pub(crate) fn names(&self, _: &str) -> bool {
        match *self {}
    }
}

impl Certificates {
    pub(crate) fn load(_: TlsFiles, _: &str) -> io::Result<Certificates> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this build has no TLS; build it with the client sql"))
    }

    pub(crate) fn refresh(&self, _: &mut dyn FnMut(String)) {
        match *self {}
    }

    pub(crate) async fn accept(&self, _: TcpStream) -> Result<(TcpLink, PeerCertificate), Failure> {
        match *self {}
    }

    pub(crate) async fn connect(&self, _: TcpStream, _: &str) -> Result<TcpLink, Failure> {
        match *self {}
    }
}
