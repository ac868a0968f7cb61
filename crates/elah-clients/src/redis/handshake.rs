//! The opening of a connection: the socket, TLS, and the commands before the first one of a caller.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::Work;
use crate::redis::command::Commands;
use crate::redis::error::Refusal;
use crate::redis::reply::{Framer, Item, Replies};
use crate::redis::settings::{Address, Settings};

/// A connection to a server, of any kind.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    Unix(UnixStream),
}

/// Opens a connection without unread bytes. The error is the cause for a sentence.
pub(crate) fn open(settings: &Settings) -> Work<'_, Result<Stream, String>> {
    Box::pin(async {
        let opening = async {
            let mut stream = open_stream(&settings.address).await.map_err(|cause| cause.to_string())?;
            greet(&mut stream, settings).await?;
            Ok(stream)
        };
        let bound = settings.times.connect;
        let opened = tokio::time::timeout(bound, opening).await;
        opened.unwrap_or_else(|_| Err(format!("no connection within {} s", bound.as_secs_f64())))
    })
}

async fn open_stream(address: &Address) -> io::Result<Stream> {
    match address {
        Address::Unix(path) => UnixStream::connect(path).await.map(Stream::Unix),
        Address::Tcp { host, port, tls } => {
            // Brackets belong to the URL of an IPv6 address, not to the address.
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let tcp = TcpStream::connect((host, *port)).await?;
            tcp.set_nodelay(true)?;
            let Some((config, name)) = tls else { return Ok(Stream::Tcp(tcp)) };
            let stream = TlsConnector::from(config.clone()).connect(name.clone(), tcp).await?;
            Ok(Stream::Tls(Box::new(stream)))
        }
    }
}

/// Signs in, and chooses the protocol and the database.
async fn greet(stream: &mut Stream, settings: &Settings) -> Result<(), String> {
    let mut commands = Commands::with_capacity(128);
    match &settings.password {
        None => hello(&mut commands, &[]),
        Some(password) => {
            hello(&mut commands, &[b"AUTH", settings.user.as_deref().unwrap_or("default").as_bytes(), password.as_bytes()])
        }
    }
    if settings.database != 0 {
        commands.begin(2);
        commands.word(b"SELECT");
        commands.word(settings.database.to_string().as_bytes());
    }
    stream.write_all(commands.bytes()).await.map_err(|cause| cause.to_string())?;
    let mut framer = Framer::default();
    framer.expect(commands.count());
    let mut bytes = BytesMut::new();
    loop {
        if let Some(refusal) = early_refusal(&bytes) {
            return Err(refusal);
        }
        if let Some(end) = framer.end(&bytes).map_err(|malformed| malformed.to_string())? {
            let mut replies = Replies::new(bytes.split_to(end).freeze());
            return (0..commands.count()).try_for_each(|_| match replies.next_item() {
                Item::Refusal(refusal) => Err(refused(refusal)),
                // The reply to HELLO describes the server.
                Item::Map(pairs) => {
                    (0..pairs * 2).for_each(|_| replies.skip());
                    Ok(())
                }
                _ => Ok(()),
            });
        }
        if stream.read_buf(&mut bytes).await.map_err(|cause| cause.to_string())? == 0 {
            return Err("it closed the connection".to_owned());
        }
    }
}

fn hello(commands: &mut Commands, rest: &[&[u8]]) {
    commands.begin(2 + rest.len());
    [b"HELLO", b"3".as_slice()].iter().chain(rest).for_each(|word| commands.word(word));
}

/// A server that refuses the connection itself replies once and closes, whatever it was sent.
fn early_refusal(bytes: &[u8]) -> Option<String> {
    let line = bytes.strip_prefix(b"-")?;
    let end = line.iter().position(|byte| *byte == b'\r')?;
    Some(refused(&line[..end]))
}

fn refused(refusal: &[u8]) -> String {
    format!("it refuses the connection: {}", Refusal::new(refusal).text)
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
            Stream::Unix(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
