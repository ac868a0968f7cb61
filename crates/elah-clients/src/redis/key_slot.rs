//! The slot of a command in a cluster: where its first key is among its words, and what that key hashes to.

/// Slots of a cluster (<https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/>).
pub(crate) const SLOTS: u16 = 16384;

/// Commands without a key. Any node may run them.
const KEYLESS: [&str; 28] = [
    "ACL",
    "BGREWRITEAOF",
    "BGSAVE",
    "CLIENT",
    "CLUSTER",
    "COMMAND",
    "CONFIG",
    "DBSIZE",
    "ECHO",
    "FLUSHALL",
    "FLUSHDB",
    "FUNCTION",
    "INFO",
    "KEYS",
    "LASTSAVE",
    "LATENCY",
    "MODULE",
    "PING",
    "PUBLISH",
    "PUBSUB",
    "RANDOMKEY",
    "ROLE",
    "SAVE",
    "SCAN",
    "SCRIPT",
    "SLOWLOG",
    "SWAPDB",
    "TIME",
];
/// Commands whose second word is a subcommand or an operation.
const AFTER_SUBCOMMAND: [&str; 6] = ["BITOP", "DEBUG", "MEMORY", "OBJECT", "XGROUP", "XINFO"];
/// Commands whose third word is the number of keys.
const AFTER_SCRIPT: [&str; 6] = ["EVAL", "EVALSHA", "EVALSHA_RO", "EVAL_RO", "FCALL", "FCALL_RO"];
/// Commands whose second word is the number of keys.
const AFTER_NUMBER: [&str; 7] = ["LMPOP", "SINTERCARD", "ZDIFF", "ZINTER", "ZINTERCARD", "ZMPOP", "ZUNION"];
const STREAM_READS: [&str; 2] = ["XREAD", "XREADGROUP"];

/// The slot of the first key of a command; `None` without a key.
pub(crate) fn slot_of(words: &[&[u8]]) -> Option<u16> {
    first_key(words).map(slot)
}

fn first_key<'a>(words: &[&'a [u8]]) -> Option<&'a [u8]> {
    let name = words.first()?;
    let is_one_of = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
    let index = match () {
        () if is_one_of(&KEYLESS) => return None,
        () if is_one_of(&AFTER_SUBCOMMAND) || is_one_of(&AFTER_NUMBER) => 2,
        () if is_one_of(&AFTER_SCRIPT) && words.get(2).is_some_and(|number| *number == b"0") => return None,
        () if is_one_of(&AFTER_SCRIPT) || is_one_of(&["MIGRATE"]) => 3,
        () if is_one_of(&STREAM_READS) => words.iter().position(|word| word.eq_ignore_ascii_case(b"STREAMS"))? + 1,
        () => 1,
    };
    words.get(index).copied()
}

/// The slot of a key: that of what is between its first braces, if it has some.
fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let len = rest.iter().position(|byte| *byte == b'}')?;
        (len > 0).then(|| &rest[..len])
    });
    crc16(tag.unwrap_or(key)) % SLOTS
}

/// CRC-16/XMODEM, as of the cluster specification.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc: u16, _| if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(command: &str) -> Option<String> {
        let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
        first_key(&words).map(|key| String::from_utf8_lossy(key).into_owned())
    }

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!((slot(b"foo"), slot(b"bar")), (12182, 5061)); // CLUSTER KEYSLOT foo
        assert_eq!(slot(b"{user1000}.following"), slot(b"user1000"));
        assert_eq!(slot(b"foo{{bar}}zap"), slot(b"{bar"));
        assert_eq!(slot(b"foo{bar}{zap}"), slot(b"bar"));
        assert_eq!(slot(b"foo{}{bar}"), crc16(b"foo{}{bar}") % SLOTS);
        assert_eq!(slot(b"foo{bar"), crc16(b"foo{bar") % SLOTS);
    }

    #[test]
    fn keys_are_where_the_commands_have_them() {
        for command in [
            "GET k",
            "set k v",
            "evalsha digest 1 k arg",
            "EVAL source 2 k other",
            "object encoding k",
            "BITOP AND k a",
            "ZUNION 2 k a",
            "XREAD COUNT 1 STREAMS k 0",
            "XREADGROUP GROUP g c STREAMS k >",
            "JSON.GET k",
            "MIGRATE host 6379 k 0 1000",
        ] {
            assert_eq!(key(command).as_deref(), Some("k"), "{command}");
        }
        for command in ["PING", "scan 0", "EVAL source 0 arg", "SCRIPT LOAD source", "XREAD COUNT 1", "GET"] {
            assert_eq!(key(command), None, "{command}");
        }
    }
}
