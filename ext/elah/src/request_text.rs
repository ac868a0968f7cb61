//! Writes a request as members of a JSON object, without Ruby objects in between.

use std::borrow::Cow;

use elah_core::json_text::write_string;
use elah_core::request::RequestView;

/// Appends `,"path":…,"headers":{…}` with the headers whose names (in lower case) are `kept`. Bytes that are no text are replaced as in
/// `String#scrub`.
pub(crate) fn write_request(out: &mut Vec<u8>, request: &RequestView<'_>, kept: impl Fn(&str) -> bool) {
    out.extend_from_slice(b",\"path\":");
    write_string(out, request.path());
    out.extend_from_slice(b",\"headers\":{");
    let mut is_first = true;
    let mut lines = request.header_lines().peekable();
    while let Some((name, value)) = lines.next() {
        let mut value = Cow::Borrowed(value);
        while lines.next_if(|(following, _)| *following == name).is_some() {
            value = request.header(name).unwrap_or(value);
        }
        if !kept(name) {
            continue;
        }
        if !is_first {
            out.push(b',');
        }
        is_first = false;
        write_string(out, name);
        out.push(b':');
        write_string(out, &String::from_utf8_lossy(&value));
    }
    out.push(b'}');
}

/// Whether a name is none of those in a list that blanks separate.
pub(crate) fn is_not_in(list: &[u8], name: &str) -> bool {
    list.split(|byte| *byte == b' ').all(|listed| listed != name.as_bytes())
}
