//! Writes a request as members of a JSON object, without Ruby objects in between.

use elah_core::json_text::write_string;
use elah_core::request::RequestView;

/// Appends `,"path":…,"headers":{…}`. `unkept` has names of headers in lower case, separated by blanks. Bytes that are no text are
/// replaced as in `String#scrub`.
pub(crate) fn write_request(out: &mut Vec<u8>, request: RequestView<'_>, unkept: &[u8]) {
    out.extend_from_slice(b",\"path\":");
    write_string(out, request.path());
    out.extend_from_slice(b",\"headers\":{");
    let mut is_first = true;
    for name in request.header_names() {
        if unkept.split(|byte| *byte == b' ').any(|unkept| unkept == name.as_bytes()) {
            continue;
        }
        let Some(value) = request.header(name) else { continue };
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
