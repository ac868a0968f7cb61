//! Ruby objects as the words of commands.

use elah_clients::redis::{Commands, Name, SharingCheck};
use magnus::value::ReprValue;
use magnus::{Error, Float, Integer, RArray, RHash, RString, Ruby, Symbol, Value};

/// Room for a short command.
const EXPECTED_BYTES: usize = 96;

/// A command of these words. Arrays and Hashes among them stand for their elements.
pub(super) fn single(ruby: &Ruby, words: &[Value]) -> Result<Commands, Error> {
    let mut commands = Commands::with_capacity(EXPECTED_BYTES);
    if words.iter().any(|word| holds_words(*word)) {
        let flat = flattened(ruby, words.iter().copied())?;
        add(ruby, &mut commands, flat.len(), flat.into_iter())?;
    } else {
        add(ruby, &mut commands, words.len(), words.iter().copied())?;
    }
    Ok(commands)
}

/// The commands of an Array of Arrays, and their names.
pub(super) fn several(ruby: &Ruby, list: RArray) -> Result<(Commands, Vec<Name>), Error> {
    let mut commands = Commands::with_capacity(EXPECTED_BYTES * list.len());
    let mut names = Vec::with_capacity(list.len());
    for words in list.into_iter() {
        let words = flattened(ruby, RArray::to_ary(words)?.into_iter())?;
        names.push(words.entry::<Value>(0).ok().and_then(word_name).unwrap_or(Name::new(b"")));
        add(ruby, &mut commands, words.len(), words.into_iter())?;
    }
    Ok((commands, names))
}

/// The bytes of the Strings and Symbols in an Array.
pub(super) fn texts(ruby: &Ruby, words: RArray) -> Result<Vec<Vec<u8>>, Error> {
    words.into_iter().map(|word| with_word(ruby, word, |bytes| Ok(bytes.to_vec()))).collect()
}

fn add(ruby: &Ruby, commands: &mut Commands, len: usize, words: impl Iterator<Item = Value>) -> Result<(), Error> {
    if len == 0 {
        return Err(Error::new(ruby.exception_arg_error(), "a command has a name at least"));
    }
    commands.begin(len);
    let mut check = SharingCheck::default();
    for word in words {
        with_word(ruby, word, |bytes| {
            check.word(bytes).map_err(|harm| Error::new(ruby.exception_arg_error(), harm.to_string()))?;
            commands.word(bytes);
            Ok(())
        })?;
    }
    Ok(())
}

fn holds_words(value: Value) -> bool {
    RArray::from_value(value).is_some() || RHash::from_value(value).is_some()
}

fn flattened(ruby: &Ruby, words: impl Iterator<Item = Value>) -> Result<RArray, Error> {
    let flat = ruby.ary_new();
    for word in words {
        if let Some(array) = RArray::from_value(word) {
            flat.concat(flattened(ruby, array.into_iter())?)?;
        } else if let Some(hash) = RHash::from_value(word) {
            let pairs: RArray = hash.funcall("to_a", ())?;
            flat.concat(flattened(ruby, pairs.into_iter())?)?;
        } else {
            flat.push(word)?;
        }
    }
    Ok(flat)
}

/// Passes the bytes of `word` to `work`, which must not run Ruby code unless it then fails.
fn with_word<R>(ruby: &Ruby, word: Value, work: impl FnOnce(&[u8]) -> Result<R, Error>) -> Result<R, Error> {
    if let Some(string) = RString::from_value(word) {
        return with_bytes(string, work);
    }
    if let Some(symbol) = Symbol::from_value(word) {
        return work(symbol.name()?.as_bytes());
    }
    if let Some(integer) = Integer::from_value(word) {
        return match integer.to_i64() {
            Ok(number) => work(itoa::Buffer::new().format(number).as_bytes()),
            Err(_) => with_bytes(integer.funcall("to_s", ())?, work),
        };
    }
    if Float::from_value(word).is_some() {
        return with_bytes(word.funcall("to_s", ())?, work);
    }
    let given: String = word.class().funcall("to_s", ())?;
    let message = format!("a word of a Redis command is a String, a Symbol or a number, not a {given}");
    Err(Error::new(ruby.exception_type_error(), message))
}

fn word_name(word: Value) -> Option<Name> {
    match RString::from_value(word) {
        Some(string) => Some(with_bytes(string, Name::new)),
        None => Symbol::from_value(word)?.name().ok().map(|name| Name::new(name.as_bytes())),
    }
}

/// Passes the bytes of a Ruby String to `work`, which must not run Ruby code.
fn with_bytes<R>(string: RString, work: impl FnOnce(&[u8]) -> R) -> R {
    // SAFETY: `string` is on this stack, and nothing runs that could change or free it before `work` returns.
    work(unsafe { string.as_slice() })
}
