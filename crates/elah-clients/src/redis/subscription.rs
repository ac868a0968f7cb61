//! A subscription: a connection of its own that passes messages on, and resubscribes to the same channels after a loss.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Mutex, mpsc};

use crate::Work;
use crate::redis::client::pause;
use crate::redis::command::Commands;
use crate::redis::error::Error;
use crate::redis::handshake::{self, Stream};
use crate::redis::reply::{Framer, Item, Replies};
use crate::redis::settings::Settings;
use crate::redis::slot_map::SlotMap;

/// Silence after which the server is pinged.
const PING_AFTER: Duration = Duration::from_secs(15);

/// A published message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub channel: Vec<u8>,
    /// The pattern that the channel matched; `None` for a channel that was subscribed to by name.
    pub pattern: Option<Vec<u8>>,
    pub payload: Vec<u8>,
}

/// What a reader of a subscription gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Message(Message),
    /// No message came in time.
    Nothing,
    /// The subscription has ended.
    Over,
}

/// The reading end. Dropping it ends the subscription.
pub struct Subscription {
    messages: Mutex<mpsc::Receiver<Message>>,
    losses: Arc<AtomicU64>,
}

impl Subscription {
    /// Subscribes; returns when the server has confirmed every channel. The second part must be driven on the same runtime.
    /// `masters` are those of a cluster, as far as they are known: each of them has all messages.
    pub fn open(
        settings: Settings,
        masters: Vec<(String, u16)>,
        channels: Vec<Vec<u8>>,
        patterns: Vec<Vec<u8>>,
    ) -> Work<'static, Result<(Subscription, Work<'static, ()>), Error>> {
        Box::pin(async move {
            let (sender, receiver) = mpsc::channel(settings.times.messages_max.max(1));
            let losses = Arc::new(AtomicU64::new(0));
            let subscription = Subscription { messages: Mutex::new(receiver), losses: Arc::clone(&losses) };
            let mut feed = Feed { settings, masters, channels, patterns, sender, losses, bytes: BytesMut::new() };
            let mut opened = feed.connect(0).await;
            for attempt in 1..=feed.masters.len() {
                if opened.is_err() {
                    opened = feed.connect(attempt).await;
                }
            }
            let stream = opened.map_err(|cause| Error::Unreachable {
                server: feed.settings.server.clone(),
                cause: cause.into(),
                retry_after: Duration::ZERO,
            })?;
            let feed: Work<'static, ()> = Box::pin(feed.run(stream));
            Ok((subscription, feed))
        })
    }

    /// The next message; waits for up to `within`. May be dropped while it waits.
    pub fn next(&self, within: Option<Duration>) -> Work<'_, Next> {
        Box::pin(async move {
            let receiving = async { self.messages.lock().await.recv().await.map_or(Next::Over, Next::Message) };
            match within {
                None => receiving.await,
                Some(within) => tokio::time::timeout(within, receiving).await.unwrap_or(Next::Nothing),
            }
        })
    }

    /// How often the connection was lost. Messages may be missing after each loss.
    pub fn losses(&self) -> u64 {
        self.losses.load(Ordering::Relaxed)
    }
}

struct Feed {
    settings: Settings,
    /// Those of a cluster, one of which replaces the server of the settings when that is away.
    masters: Vec<(String, u16)>,
    channels: Vec<Vec<u8>>,
    patterns: Vec<Vec<u8>>,
    sender: mpsc::Sender<Message>,
    losses: Arc<AtomicU64>,
    bytes: BytesMut,
}

impl Feed {
    async fn run(mut self, mut stream: Stream) {
        let closed = self.sender.clone();
        let feeding = async {
            loop {
                if self.feed(stream).await.is_ok() {
                    return;
                }
                self.losses.fetch_add(1, Ordering::Relaxed);
                stream = self.reconnect().await;
            }
        };
        tokio::select! {
            () = feeding => {}
            () = closed.closed() => {}
        }
    }

    async fn reconnect(&mut self) -> Stream {
        let mut failures = 0;
        loop {
            tokio::time::sleep(pause(failures)).await;
            match self.connect(failures as usize).await {
                Ok(stream) => return stream,
                Err(_) => failures += 1,
            }
        }
    }

    /// Each attempt asks another server of a cluster.
    async fn connect(&mut self, attempt: usize) -> Result<Stream, String> {
        let settings = match attempt % (self.masters.len() + 1) {
            0 => self.settings.clone(),
            number => {
                let (host, port) = &self.masters[number - 1];
                self.settings.at(host, *port)
            }
        };
        let mut stream = handshake::open(&settings).await?;
        let mut commands = Commands::with_capacity(64);
        for (verb, names) in [(b"SUBSCRIBE".as_slice(), &self.channels), (b"PSUBSCRIBE", &self.patterns)] {
            if !names.is_empty() {
                commands.begin(1 + names.len());
                commands.word(verb);
                names.iter().for_each(|name| commands.word(name));
            }
        }
        self.bytes.clear();
        let bound = self.settings.times.connect;
        let confirming = async {
            if settings.is_cluster() {
                stream.write_all(SlotMap::question().bytes()).await.map_err(|cause| cause.to_string())?;
                let replies = self.read(&mut stream).await?;
                self.masters = SlotMap::read(replies, settings.host_and_port().0)?.addresses().to_vec();
            }
            stream.write_all(commands.bytes()).await.map_err(|cause| cause.to_string())?;
            let mut left = self.channels.len() + self.patterns.len();
            while left > 0 {
                let mut replies = self.read(&mut stream).await?;
                match replies.next_item() {
                    Item::Refusal(refusal) => return Err(String::from_utf8_lossy(refusal).into_owned()),
                    Item::Array(_) => match read_event(replies) {
                        Event::Confirmed => left -= 1,
                        // Nobody reads before everything is confirmed, so a message without room is dropped.
                        Event::Message(message) => drop(self.sender.try_send(message)),
                        Event::Other => {}
                    },
                    _ => return Err("it sent a reply to no command".to_owned()),
                }
            }
            Ok(())
        };
        let confirmed = tokio::time::timeout(bound, confirming).await;
        confirmed.unwrap_or_else(|_| Err(format!("no subscription within {} s", bound.as_secs_f64()))).map(|()| stream)
    }

    /// Passes messages on until there is no reader, which is `Ok`, or the connection is lost.
    async fn feed(&mut self, mut stream: Stream) -> Result<(), String> {
        let mut has_asked = false;
        loop {
            let patience = if has_asked { self.settings.times.command } else { PING_AFTER };
            match tokio::time::timeout(patience, self.read(&mut stream)).await {
                Err(_) if has_asked => return Err("it said nothing".to_owned()),
                Err(_) => {
                    let mut ping = Commands::with_capacity(16);
                    ping.begin(1);
                    ping.word(b"PING");
                    stream.write_all(ping.bytes()).await.map_err(|cause| cause.to_string())?;
                    has_asked = true;
                }
                Ok(replies) => {
                    has_asked = false;
                    let mut replies = replies?;
                    if matches!(replies.next_item(), Item::Array(_))
                        && let Event::Message(message) = read_event(replies)
                        && self.sender.send(message).await.is_err()
                    {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Reads one reply or message. May be dropped while it waits.
    async fn read(&mut self, stream: &mut Stream) -> Result<Replies, String> {
        let mut framer = Framer::default();
        framer.expect(1);
        loop {
            if let Some(end) = framer.end(&self.bytes).map_err(|malformed| malformed.to_string())? {
                return Ok(Replies::new(self.bytes.split_to(end).freeze()));
            }
            if stream.read_buf(&mut self.bytes).await.map_err(|cause| cause.to_string())? == 0 {
                return Err("it closed the connection".to_owned());
            }
        }
    }
}

enum Event {
    Confirmed,
    Message(Message),
    Other,
}

/// Reads an event from an array, whose first item is next.
fn read_event(mut replies: Replies) -> Event {
    let mut text = || match replies.next_item() {
        Item::Text(text) => text.to_vec(),
        _ => Vec::new(),
    };
    match text().as_slice() {
        b"subscribe" | b"psubscribe" => Event::Confirmed,
        b"message" => Event::Message(Message { pattern: None, channel: text(), payload: text() }),
        b"pmessage" => Event::Message(Message { pattern: Some(text()), channel: text(), payload: text() }),
        _ => Event::Other,
    }
}
