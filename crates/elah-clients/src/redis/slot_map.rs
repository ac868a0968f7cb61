//! The nodes of a cluster and the slots that each has, as `CLUSTER SLOTS` tells them.

use crate::redis::command::Commands;
use crate::redis::key_slot::SLOTS;
use crate::redis::reply::{Item, Replies};

/// The master of each slot, as host and port. Empty before the first answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotMap {
    addresses: Vec<(String, u16)>,
    /// For each slot the number of its address.
    owners: Vec<Option<u16>>,
    is_doubtful: bool,
}

impl SlotMap {
    /// The question for the slots.
    pub(crate) fn question() -> Commands {
        let mut commands = Commands::with_capacity(64);
        ask(&mut commands, b"SLOTS");
        commands
    }

    /// The question for the state of the cluster, and for the slots.
    pub(crate) fn question_with_state() -> Commands {
        let mut commands = Commands::with_capacity(64);
        ask(&mut commands, b"INFO");
        commands.append(&SlotMap::question());
        commands
    }

    /// Reads the replies to the question with the state. A user who may not ask for that has the slots all the same.
    pub(crate) fn read_with_state(mut replies: Replies, host: &str) -> Result<SlotMap, String> {
        let is_doubtful = match replies.clone().next_item() {
            Item::Text(state) => state.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"cluster_state:fail")),
            _ => false,
        };
        replies.skip();
        SlotMap::read(replies, host).map(|map| SlotMap { is_doubtful, ..map })
    }

    /// Reads the reply to the question, of the node at `host`; the text of its refusal otherwise.
    pub(crate) fn read(mut replies: Replies, host: &str) -> Result<SlotMap, String> {
        let ranges = match replies.next_item() {
            Item::Array(ranges) => ranges,
            Item::Refusal(line) => return Err(String::from_utf8_lossy(line).into_owned()),
            _ => 0,
        };
        let mut map = SlotMap::default();
        for _ in 0..ranges {
            map.read_range(&mut replies, host);
        }
        if map.is_empty() { Err("no node has any slot".to_owned()) } else { Ok(map) }
    }

    /// First slot, last slot, the master, its replicas; of a node its host, its port and more.
    fn read_range(&mut self, replies: &mut Replies, host: &str) {
        let Item::Array(parts @ 3..) = replies.next_item() else { return };
        let (first, last) = (slot_number(replies.next_item()), slot_number(replies.next_item()));
        let Item::Array(fields @ 2..) = replies.next_item() else { return };
        let host = match replies.next_item() {
            Item::Text(text) if !text.is_empty() && text != b"?" => String::from_utf8_lossy(text).into_owned(),
            _ => host.to_owned(), // the one that was asked
        };
        let port = replies.next_item();
        if let (Some(first), Some(last), Item::Integer(port)) = (first, last, port)
            && let Ok(port) = u16::try_from(port)
        {
            (first..=last).for_each(|slot| self.set(slot, &host, port));
        }
        (2..fields).for_each(|_| replies.skip());
        (3..parts).for_each(|_| replies.skip());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Whether the node that told them finds the cluster down, as one does that the others have left behind.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// Gives a slot to a node.
    pub(crate) fn set(&mut self, slot: u16, host: &str, port: u16) {
        let known = self.addresses.iter().position(|address| address.0 == host && address.1 == port);
        let number = known.unwrap_or_else(|| {
            self.addresses.push((host.to_owned(), port));
            self.addresses.len() - 1
        });
        self.owners.resize(usize::from(SLOTS), None);
        self.owners[usize::from(slot % SLOTS)] = u16::try_from(number).ok();
    }

    /// The node of a slot; of one that nobody has, any node tells so. Without a slot it is that of the first slot, and another
    /// one after each attempt.
    pub(crate) fn address(&self, slot: Option<u16>, attempt: usize) -> Option<(String, u16)> {
        let owner = |slot: u16| self.owners.get(usize::from(slot)).copied().flatten().map_or(0, usize::from);
        let number = slot.map_or_else(|| (owner(0) + attempt) % self.addresses.len().max(1), owner);
        self.addresses.get(number).cloned()
    }

    pub(crate) fn addresses(&self) -> &[(String, u16)] {
        &self.addresses
    }
}

fn ask(commands: &mut Commands, subject: &[u8]) {
    commands.begin(2);
    commands.word(b"CLUSTER");
    commands.word(subject);
}

fn slot_number(item: Item<'_>) -> Option<u16> {
    let Item::Integer(number) = item else { return None };
    u16::try_from(number).ok().filter(|slot| *slot < SLOTS)
}

/// Where a node sends a command that is not its own.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Redirection {
    /// The slot has moved there for good.
    Moved { slot: u16, host: String, port: u16 },
    /// The key may have moved there already.
    Ask { host: String, port: u16 },
    /// Some of the keys have moved, and some have not.
    TryAgain,
    /// The node serves no slots for now; another one may have them.
    Down,
}

impl Redirection {
    /// Reads a refusal of the node at `host`; `None` for one of another kind.
    pub(crate) fn read(line: &[u8], host: &str) -> Option<Redirection> {
        let line = std::str::from_utf8(line).ok()?;
        let mut words = line.split(' ');
        match (words.next()?, words.next(), words.next()) {
            // A script may say TRYAGAIN for reasons of its own, and has run.
            ("TRYAGAIN", Some("Multiple"), Some("keys")) => Some(Redirection::TryAgain),
            ("CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY", ..) => Some(Redirection::Down),
            (code @ ("MOVED" | "ASK"), Some(slot), Some(address)) => {
                let (named, port) = address.rsplit_once(':')?;
                let host = if named.is_empty() || named == "?" { host } else { named }.to_owned();
                let port = port.parse().ok()?;
                if code == "ASK" {
                    return Some(Redirection::Ask { host, port });
                }
                Some(Redirection::Moved { slot: slot.parse().ok()?, host, port })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn read(reply: &'static str) -> Result<SlotMap, String> {
        SlotMap::read(Replies::new(Bytes::from_static(reply.as_bytes())), "asked")
    }

    fn address(host: &str, port: u16) -> Option<(String, u16)> {
        Some((host.to_owned(), port))
    }

    #[test]
    fn every_slot_has_its_master() {
        let map = read(
            "*2\r\n*4\r\n:0\r\n:9\r\n*4\r\n$2\r\nh1\r\n:1\r\n$2\r\nid\r\n*0\r\n*3\r\n$2\r\nh9\r\n:9\r\n$2\r\nid\r\n\
             *3\r\n:10\r\n:16383\r\n*2\r\n$0\r\n\r\n:2\r\n",
        )
        .unwrap();
        assert_eq!(
            [0, 9, 10, 16383].map(|slot| map.address(Some(slot), 1)),
            [address("h1", 1), address("h1", 1), address("asked", 2), address("asked", 2)]
        );
        assert_eq!(
            [0, 1, 2].map(|attempt| map.address(None, attempt)),
            [address("h1", 1), address("asked", 2), address("h1", 1)]
        );
        assert_eq!(map.addresses().len(), 2);
    }

    #[test]
    fn what_is_no_map_is_refused() {
        for wrong in ["*0\r\n", "+OK\r\n", "*1\r\n*3\r\n:0\r\n:99999\r\n*2\r\n$1\r\nh\r\n:1\r\n", "*1\r\n*1\r\n:0\r\n"] {
            assert_eq!(read(wrong), Err("no node has any slot".to_owned()), "{wrong}");
        }
        assert_eq!(read("-ERR no cluster\r\n"), Err("ERR no cluster".to_owned()));
    }

    #[test]
    fn a_node_that_finds_the_cluster_down_is_doubtful() {
        let slots = "*1\r\n*3\r\n:0\r\n:9\r\n*2\r\n$1\r\nh\r\n:1\r\n";
        let is_doubtful = |state| {
            let replies = Replies::new(Bytes::from(format!("{state}{slots}")));
            SlotMap::read_with_state(replies, "asked").map(|map| map.is_doubtful())
        };
        assert_eq!(is_doubtful("$16\r\ncluster_state:ok\r\n"), Ok(false));
        assert_eq!(is_doubtful("$33\r\nx:1\r\ncluster_state:fail\r\ny:fail\r\n\r\n"), Ok(true));
        assert_eq!(is_doubtful("-NOPERM no permissions\r\n"), Ok(false));
    }

    #[test]
    fn a_slot_that_moves_is_found() {
        let mut map = SlotMap::default();
        assert_eq!((map.address(Some(7), 0), map.address(None, 0)), (None, None));
        map.set(7, "h", 1);
        map.set(7, "h", 2);
        assert_eq!(map.address(Some(7), 0), address("h", 2));
        assert_eq!(map.address(Some(8), 0), address("h", 1));
    }

    #[test]
    fn redirections_name_the_node() {
        let moved = |host: &str, port| Some(Redirection::Moved { slot: 3, host: host.to_owned(), port });
        assert_eq!(Redirection::read(b"MOVED 3 10.0.0.1:7000", "asked"), moved("10.0.0.1", 7000));
        assert_eq!(Redirection::read(b"MOVED 3 :7000", "asked"), moved("asked", 7000));
        assert_eq!(Redirection::read(b"MOVED 3 ::1:7000", "asked"), moved("::1", 7000));
        assert_eq!(Redirection::read(b"ASK 3 h:1", "asked"), Some(Redirection::Ask { host: "h".to_owned(), port: 1 }));
        assert_eq!(Redirection::read(b"TRYAGAIN Multiple keys", "asked"), Some(Redirection::TryAgain));
        assert_eq!(Redirection::read(b"TRYAGAIN later", "asked"), None);
        assert_eq!(Redirection::read(b"CLUSTERDOWN The cluster is down", "asked"), Some(Redirection::Down));
        for other in [b"MOVED".as_slice(), b"MOVED 3 h", b"MOVED x h:1", b"ERR MOVED", b""] {
            assert_eq!(Redirection::read(other, "asked"), None);
        }
    }
}
