//! Encoded commands, and the commands that must not be sent over a shared connection.

use std::fmt;

/// The first word of a command, for messages; cut off if it is too long.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name {
    bytes: [u8; 23],
    len: u8,
}

impl Name {
    /// The name of a command by its first word.
    pub fn new(word: &[u8]) -> Name {
        let mut bytes = [0; 23];
        let len = word.len().min(bytes.len());
        bytes[..len].copy_from_slice(&word[..len]);
        Name { bytes, len: len as u8 }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.bytes[..usize::from(self.len)].to_ascii_uppercase() {
            write!(formatter, "{}", byte.escape_ascii())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

/// A command that waits in the server or changes the connection, and so would harm other callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnshareableCommand {
    /// It blocks all later commands.
    Waits(Name),
    /// It changes the state of the connection; the text names the alternative.
    ChangesConnection(Name, &'static str),
}

impl fmt::Display for UnshareableCommand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnshareableCommand::Waits(name) => {
                write!(formatter, "{name} would hold up all that share this connection: ask without waiting, or subscribe.")
            }
            UnshareableCommand::ChangesConnection(name, instead) => {
                write!(formatter, "{name} would change the connection that others share: use {instead}.")
            }
        }
    }
}

impl std::error::Error for UnshareableCommand {}

const WAITING: [&str; 10] =
    ["BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "BZMPOP", "WAIT", "WAITAOF"];
/// These wait with the option BLOCK.
const STREAM_READS: [&str; 2] = ["XREAD", "XREADGROUP"];
const CHANGING: [(&str, &str); 22] = [
    ("SUBSCRIBE", "`subscribe`"),
    ("PSUBSCRIBE", "`subscribe` with patterns:"),
    ("SSUBSCRIBE", "`subscribe`"),
    ("UNSUBSCRIBE", "`close` of the subscription"),
    ("PUNSUBSCRIBE", "`close` of the subscription"),
    ("SUNSUBSCRIBE", "`close` of the subscription"),
    ("MONITOR", "redis-cli"),
    ("SYNC", "redis-cli"),
    ("PSYNC", "redis-cli"),
    ("REPLCONF", "redis-cli"),
    ("MULTI", "`multi`"),
    ("EXEC", "`multi`"),
    ("DISCARD", "`multi`"),
    ("WATCH", "`script`"),
    ("SELECT", "the path of the URL"),
    ("AUTH", "the user and the password of the URL"),
    ("HELLO", "the URL"),
    ("RESET", "a new client"),
    ("QUIT", "`close`"),
    ("ASKING", "a `redis+cluster://` URL"),
    ("READONLY", "a `redis+cluster://` URL"),
    ("READWRITE", "a `redis+cluster://` URL"),
];
/// Subcommands that change the connection.
const CHANGING_SUBCOMMANDS: [(&str, &str, &str); 8] = [
    ("CLIENT", "REPLY", "`post`"),
    ("CLIENT", "TRACKING", "redis-cli"),
    ("CLIENT", "CACHING", "redis-cli"),
    ("CLIENT", "NO-EVICT", "redis-cli"),
    ("CLIENT", "NO-TOUCH", "redis-cli"),
    ("CLIENT", "CAPA", "redis-cli"),
    ("CLIENT", "IMPORT-SOURCE", "redis-cli"),
    ("SCRIPT", "DEBUG", "redis-cli"),
];

/// Checks a command, word by word, for whether it may share a connection.
#[derive(Default)]
pub struct SharingCheck(Expected);

#[derive(Default, Clone, Copy)]
enum Expected {
    #[default]
    Name,
    /// A subcommand of the entry with this number in `CHANGING_SUBCOMMANDS`, and of those with the same command.
    Subcommand(usize),
    /// An option of a command that reads streams, after this many values of the option before.
    StreamOption(Name, u8),
    Anything,
}

impl SharingCheck {
    /// Checks the next word.
    pub fn word(&mut self, word: &[u8]) -> Result<(), UnshareableCommand> {
        let is = |known: &str| word.eq_ignore_ascii_case(known.as_bytes());
        match self.0 {
            Expected::Anything => {}
            Expected::Name => self.0 = after_name(word)?,
            Expected::Subcommand(number) => {
                self.0 = Expected::Anything;
                let command = CHANGING_SUBCOMMANDS[number].0;
                if let Some((_, known, instead)) = CHANGING_SUBCOMMANDS.iter().find(|row| row.0 == command && is(row.1)) {
                    let name = Name::new(format!("{command} {known}").as_bytes());
                    return Err(UnshareableCommand::ChangesConnection(name, instead));
                }
            }
            Expected::StreamOption(name, values @ 1..) => self.0 = Expected::StreamOption(name, values - 1),
            Expected::StreamOption(name, 0) => {
                self.0 = match () {
                    () if is("BLOCK") => return Err(UnshareableCommand::Waits(name)),
                    () if is("STREAMS") => Expected::Anything,
                    () if is("GROUP") => Expected::StreamOption(name, 2),
                    () if is("COUNT") || is("CLAIM") => Expected::StreamOption(name, 1),
                    () => Expected::StreamOption(name, 0),
                };
            }
        }
        Ok(())
    }
}

/// What follows a command's name; an error if no command of that name may share a connection.
fn after_name(word: &[u8]) -> Result<Expected, UnshareableCommand> {
    // The first letter and the length decide for most commands.
    let first = word.first().map_or(0, u8::to_ascii_uppercase);
    if !b"ABCDEHMPQRSUWX".contains(&first) || word.len() < 4 {
        return Ok(Expected::Anything);
    }
    let is = |known: &str| word.eq_ignore_ascii_case(known.as_bytes());
    if WAITING.into_iter().any(is) {
        return Err(UnshareableCommand::Waits(Name::new(word)));
    }
    if let Some((_, instead)) = CHANGING.into_iter().find(|(known, _)| is(known)) {
        return Err(UnshareableCommand::ChangesConnection(Name::new(word), instead));
    }
    if STREAM_READS.into_iter().any(is) {
        return Ok(Expected::StreamOption(Name::new(word), 0));
    }
    let subcommands = CHANGING_SUBCOMMANDS.iter().position(|(command, ..)| is(command));
    Ok(subcommands.map_or(Expected::Anything, Expected::Subcommand))
}

/// Commands that are sent together, encoded, and the number of their replies.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    bytes: Vec<u8>,
    count: u32,
    name: Option<Name>,
}

impl Commands {
    /// `bytes` is the expected size of the commands.
    pub fn with_capacity(bytes: usize) -> Self {
        Commands { bytes: Vec::with_capacity(bytes), count: 0, name: None }
    }

    /// Begins a command of this many words; call `word` for each of them.
    pub fn begin(&mut self, words: usize) {
        self.count += 1;
        self.header(b'*', words);
    }

    /// Adds a word to the current command.
    pub fn word(&mut self, word: &[u8]) {
        if self.name.is_none() {
            self.name = Some(Name::new(word));
        }
        self.header(b'$', word.len());
        self.bytes.extend_from_slice(word);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// The number of replies to the commands.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Wraps the commands in `MULTI` and `EXEC`.
    pub fn into_transaction(self) -> Commands {
        let mut whole = Commands::with_capacity(self.bytes.len() + 32);
        whole.begin(1);
        whole.word(b"MULTI");
        whole.bytes.extend_from_slice(&self.bytes);
        whole.count += self.count;
        whole.begin(1);
        whole.word(b"EXEC");
        whole.name = Some(Name::new(b"MULTI"));
        whole
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The first command's name.
    pub fn name(&self) -> Name {
        self.name.unwrap_or(Name::new(b"a command"))
    }

    /// Adds commands after these.
    pub(crate) fn append(&mut self, others: &Commands) {
        self.bytes.extend_from_slice(&others.bytes);
        self.count += others.count;
        self.name = self.name.or(others.name);
    }

    /// Each command alone, with its words, decoded from this module's own encoding.
    pub(crate) fn each(&self) -> impl Iterator<Item = (Vec<&[u8]>, Commands)> {
        let mut rest = self.bytes.as_slice();
        (0..self.count).map(move |_| {
            let whole = rest;
            let count = take_header(&mut rest);
            let words: Vec<_> = (0..count).map(|_| take_word(&mut rest)).collect();
            let bytes = whole[..whole.len() - rest.len()].to_vec();
            let name = words.first().map(|word| Name::new(word));
            (words, Commands { bytes, count: 1, name })
        })
    }

    fn header(&mut self, kind: u8, number: usize) {
        let mut digits = [0; 20];
        let mut start = digits.len();
        let mut left = number;
        loop {
            start -= 1;
            digits[start] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        self.bytes.push(kind);
        self.bytes.extend_from_slice(&digits[start..]);
        self.bytes.extend_from_slice(b"\r\n");
    }
}

fn take_header(rest: &mut &[u8]) -> usize {
    let mut number = 0;
    let mut at = 1;
    while rest[at] != b'\r' {
        number = number * 10 + usize::from(rest[at] - b'0');
        at += 1;
    }
    *rest = &rest[at + 2..];
    number
}

fn take_word<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let len = take_header(rest);
    let (word, behind) = rest.split_at(len);
    *rest = &behind[2..];
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_encoded_as_redis_reads_them() {
        let mut commands = Commands::with_capacity(64);
        commands.begin(3);
        ["set", "key", "a\r\nb"].iter().for_each(|word| commands.word(word.as_bytes()));
        assert_eq!(commands.bytes(), b"*3\r\n$3\r\nset\r\n$3\r\nkey\r\n$4\r\na\r\nb\r\n");
        assert_eq!(commands.name().to_string(), "SET");
        commands.begin(1);
        commands.word(&[b'x'; 1234]);
        let words: Vec<_> = commands.each().map(|(words, _)| words).collect();
        assert_eq!(words, [vec![b"set".as_slice(), b"key", b"a\r\nb"], vec![&[b'x'; 1234]]]);
        let mut together = Commands::default();
        commands.each().for_each(|(_, command)| together.append(&command));
        assert_eq!((together.bytes(), together.count(), together.name()), (commands.bytes(), 2, Name::new(b"set")));
        assert_eq!(commands.into_transaction().each().count(), 4);
    }

    #[test]
    fn names_hold_no_more_than_the_first_letters() {
        assert_eq!(Name::new(&[b'a'; 100]).to_string(), "A".repeat(23));
        assert_eq!(Name::new("é".as_bytes()).to_string(), "\\xc3\\xa9");
    }

    fn check(command: &str) -> Result<(), String> {
        let mut check = SharingCheck::default();
        command.split(' ').try_for_each(|word| check.word(word.as_bytes())).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn what_would_harm_the_others_is_refused() {
        for shared in [
            "GET",
            "set",
            "BITCOUNT",
            "MGET",
            "EXISTS",
            "EVALSHA",
            "",
            "DEL",
            "UNWATCH",
            "READ",
            "CLIENT",
            "client id",
            "GET BLOCK",
            "XREAD COUNT 1 STREAMS BLOCK 0",
            "xreadgroup GROUP block streams COUNT 1 NOACK STREAMS s >",
            "XRANGE BLOCK - +",
            "SCRIPT LOAD debug",
            "CLIENT SETNAME reply",
        ] {
            assert_eq!(check(shared), Ok(()), "{shared}");
        }
        for harmful in [
            "blpop",
            "WAIT",
            "waitaof",
            "Select",
            "MULTI",
            "subscribe",
            "SUNSUBSCRIBE",
            "quit",
            "RESET",
            "asking",
            "READONLY",
            "READWRITE",
            "PSYNC",
        ] {
            let refusal = check(harmful).unwrap_err();
            assert!(refusal.starts_with(&harmful.to_uppercase()), "{refusal}");
        }
        for (harmful, name) in [
            ("xread block 0 streams s $", "XREAD"),
            ("XREAD COUNT 1 BLOCK 0 STREAMS s $", "XREAD"),
            ("XREADGROUP GROUP g c BLOCK 0 STREAMS s >", "XREADGROUP"),
            ("XREADGROUP COUNT 1 GROUP streams c BLOCK 0 STREAMS s >", "XREADGROUP"),
            ("client reply off", "CLIENT REPLY"),
            ("CLIENT no-evict on", "CLIENT NO-EVICT"),
            ("SCRIPT DEBUG YES", "SCRIPT DEBUG"),
        ] {
            let refusal = check(harmful).unwrap_err();
            assert!(refusal.starts_with(&format!("{name} would ")), "{refusal}");
        }
    }
}
