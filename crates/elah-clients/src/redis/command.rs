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

const WAITING: [&str; 9] = ["BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "BZMPOP", "WAIT"];
const CHANGING: [(&str, &str); 14] = [
    ("SUBSCRIBE", "`subscribe`"),
    ("PSUBSCRIBE", "`subscribe` with patterns:"),
    ("SSUBSCRIBE", "`subscribe`"),
    ("UNSUBSCRIBE", "`close` of the subscription"),
    ("PUNSUBSCRIBE", "`close` of the subscription"),
    ("MONITOR", "redis-cli"),
    ("MULTI", "`multi`"),
    ("EXEC", "`multi`"),
    ("DISCARD", "`multi`"),
    ("WATCH", "`script`"),
    ("SELECT", "the path of the URL"),
    ("AUTH", "the user and the password of the URL"),
    ("HELLO", "the URL"),
    ("QUIT", "`close`"),
];

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

    /// Checks whether a command that begins with this word may share a connection.
    pub fn check(word: &[u8]) -> Result<(), UnshareableCommand> {
        // The first letter and the length decide for most commands.
        let Some(first) = word.first().map(u8::to_ascii_uppercase) else { return Ok(()) };
        if !matches!(first, b'B' | b'W' | b'S' | b'P' | b'U' | b'M' | b'E' | b'D' | b'A' | b'H' | b'Q') || word.len() < 4 {
            return Ok(());
        }
        let is = |known: &str| word.eq_ignore_ascii_case(known.as_bytes());
        if WAITING.into_iter().any(is) {
            return Err(UnshareableCommand::Waits(Name::new(word)));
        }
        match CHANGING.into_iter().find(|(known, _)| is(known)) {
            Some((_, instead)) => Err(UnshareableCommand::ChangesConnection(Name::new(word), instead)),
            None => Ok(()),
        }
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

    /// The commands as words, decoded from this module's own encoding.
    pub(crate) fn words(&self) -> Vec<Vec<&[u8]>> {
        let mut rest = self.bytes.as_slice();
        let mut commands = Vec::with_capacity(self.count as usize);
        for _ in 0..self.count {
            let words = take_header(&mut rest);
            commands.push((0..words).map(|_| take_word(&mut rest)).collect());
        }
        commands
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
        assert_eq!(commands.words(), [vec![b"set".as_slice(), b"key", b"a\r\nb"], vec![&[b'x'; 1234]]]);
        assert_eq!(commands.into_transaction().words().len(), 4);
    }

    #[test]
    fn names_hold_no_more_than_the_first_letters() {
        assert_eq!(Name::new(&[b'a'; 100]).to_string(), "A".repeat(23));
        assert_eq!(Name::new("é".as_bytes()).to_string(), "\\xc3\\xa9");
    }

    #[test]
    fn what_would_harm_the_others_is_refused() {
        for shared in ["GET", "set", "BITCOUNT", "WAITAOF", "MGET", "EXISTS", "EVALSHA", "", "DEL"] {
            assert_eq!(Commands::check(shared.as_bytes()), Ok(()), "{shared}");
        }
        for harmful in ["blpop", "WAIT", "Select", "MULTI", "subscribe", "quit"] {
            let refusal = Commands::check(harmful.as_bytes()).unwrap_err().to_string();
            assert!(refusal.starts_with(&harmful.to_uppercase()), "{refusal}");
        }
    }
}
