//! The choice of a media type by an `Accept` header, made as Grape makes it.
//!
//! Nothing is cached between requests. The work grows with the length of the header alone.

/// The first of the accepted media types that `find` knows, in descending order of quality. As in Grape, a type without a quality
/// counts as 0. A vendor's type (`application/vnd.acme-v1+json`) also stands for its suffix (`application/json`). Wildcards match
/// no type.
pub fn best<T>(accept: &[u8], find: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
    let mut best: Option<(f64, T)> = None;
    for range in accept.split(|byte| *byte == b',') {
        let Some(name) = media_type(range) else { continue };
        let Some(found) = find(name).or_else(|| without_vendor(name).and_then(|plain| find(&plain))) else { continue };
        let quality = quality(range);
        if best.as_ref().is_none_or(|(known, _)| quality > *known) {
            best = Some((quality, found));
        }
    }
    best.map(|(_, found)| found)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || (b'\t'..=b'\r').contains(&byte)
}

/// The first `word/word`, where the second may also have `+`, `.` and `-`.
fn media_type(range: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    loop {
        let start = at + range[at..].iter().position(|byte| is_word(*byte))?;
        let end = start + length(&range[start..], is_word);
        if range.get(end) == Some(&b'/') && !follows_letter(range, start) {
            let subtype = length(&range[end + 1..], |byte| is_word(byte) || matches!(byte, b'+' | b'.' | b'-'));
            if subtype > 0 {
                return Some(&range[start..=end + subtype]);
            }
        }
        at = end;
    }
}

fn length(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|byte| !belongs(*byte)).unwrap_or(bytes.len())
}

/// Whether a letter beyond ASCII precedes `start`, so no word begins there.
fn follows_letter(range: &[u8], start: usize) -> bool {
    let Some(before) = start.checked_sub(1).filter(|index| !range[*index].is_ascii()) else { return false };
    let first = (before.saturating_sub(3)..=before).rev().find(|index| range[*index] & 0xC0 != 0x80).unwrap_or(before);
    let character = std::str::from_utf8(&range[first..start]).ok().and_then(|text| text.chars().next_back());
    character.is_some_and(char::is_alphanumeric)
}

/// `a/b` for `a/vnd.NAME+b`.
fn without_vendor(name: &[u8]) -> Option<Vec<u8>> {
    let slash = name.iter().position(|byte| *byte == b'/')?;
    let vendor = name[slash + 1..].strip_prefix(b"vnd.")?;
    let plus = vendor.iter().position(|byte| *byte == b'+').filter(|plus| *plus > 0)?;
    Some([&name[..=slash], &vendor[plus + 1..]].concat())
}

/// The number after the first `;q=`, with optional blanks after the semicolon; 0 if there is none.
fn quality(range: &[u8]) -> f64 {
    let mut rest = range;
    while let Some(semicolon) = rest.iter().position(|byte| *byte == b';') {
        rest = &rest[semicolon + 1..];
        let blanks = length(rest, is_blank);
        if let Some(value) = rest[blanks..].strip_prefix(b"q=") {
            let digits = length(value, |byte| byte.is_ascii_digit() || byte == b'.');
            if digits > 0 {
                return number(&value[..digits]);
            }
        }
        rest = &rest[blanks..];
    }
    0.0
}

/// The longest number at the beginning: `0.5` of `0.5.1`, nothing of `..5`.
fn number(text: &[u8]) -> f64 {
    let whole = length(text, |byte| byte.is_ascii_digit());
    let end = match text.get(whole) {
        Some(b'.') => whole + 1 + length(&text[whole + 1..], |byte| byte.is_ascii_digit()),
        _ => whole,
    };
    std::str::from_utf8(&text[..end]).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["application/xml", "application/json", "text/plain", "text/x.y-z+w"];

    fn chosen(accept: &str) -> Option<&'static str> {
        best(accept.as_bytes(), |name| KNOWN.into_iter().find(|known| known.as_bytes() == name))
    }

    #[test]
    fn the_first_known_type_is_chosen() {
        assert_eq!(chosen("application/json"), Some("application/json"));
        assert_eq!(chosen("image/png, text/plain, application/json"), Some("text/plain"));
        assert_eq!(chosen("  text/x.y-z+w ;a=b"), Some("text/x.y-z+w"));
    }

    #[test]
    fn nothing_is_chosen_by_what_names_no_known_type() {
        for accept in
            ["", "*/*", "text/*", "image/png", "text", "text/", "/plain", "TEXT/PLAIN", ",,;", "text /plain", "\u{e9}text/plain"]
        {
            assert_eq!(chosen(accept), None, "{accept}");
        }
    }

    #[test]
    fn a_word_begins_after_what_is_no_letter() {
        assert_eq!(chosen("\u{20ac}text/plain"), Some("text/plain"));
        assert_eq!(best(b"\xFFtext/plain", |name| (name == b"text/plain").then_some(())), Some(()));
        assert_eq!(chosen("a b/ text/plain"), Some("text/plain"));
    }

    #[test]
    fn higher_quality_wins_and_equal_quality_keeps_the_order() {
        assert_eq!(chosen("text/plain;q=0.5, application/json;q=0.9"), Some("application/json"));
        assert_eq!(chosen("text/plain;q=0.5, application/json;q=0.5"), Some("text/plain"));
        assert_eq!(chosen("text/plain; \t q=.5, application/json;x=1;q=1."), Some("application/json"));
        assert_eq!(chosen("text/plain;q=0.9.1, application/json;q=0.8"), Some("text/plain"));
    }

    #[test]
    fn a_type_without_a_quality_comes_last() {
        assert_eq!(chosen("text/plain, application/json;q=0.1"), Some("application/json"));
        assert_eq!(chosen("text/plain;Q=1, application/json;q=0.1"), Some("application/json"));
        assert_eq!(chosen("text/plain;q=..5, application/json;q=x"), Some("text/plain"));
    }

    #[test]
    fn a_vendors_type_stands_for_its_suffix() {
        assert_eq!(chosen("application/vnd.acme-v1+json"), Some("application/json"));
        assert_eq!(chosen("application/vnd.+json, text/plain"), Some("text/plain"));
        assert_eq!(chosen("application/vnd.acme, text/plain"), Some("text/plain"));
    }
}
