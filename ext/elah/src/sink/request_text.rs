//! The text of a request as members of a JSON object, without intermediate Ruby objects.

use std::borrow::Cow;

use elah_http::request::RequestView;
use elah_json::text::write_string;
use magnus::value::ReprValue;
use magnus::{Error, RString, Ruby, Value};

/// Appends the members `"path":…,"headers":{…}` with the headers whose names (in lower case) are `kept`. Replaces bytes that are
/// not text, like `String#scrub`.
pub(crate) fn write_request(out: &mut Vec<u8>, request: &RequestView<'_>, kept: impl Fn(&str) -> bool) {
    write_name(out, "path");
    write_string(out, request.path());
    out.extend_from_slice(b",\"headers\":{");
    let mut lines = request.header_lines().peekable();
    while let Some((name, value)) = lines.next() {
        let mut value = Cow::Borrowed(value);
        while lines.next_if(|(following, _)| *following == name).is_some() {
            value = request.header(name).unwrap_or(value);
        }
        if !kept(name) {
            continue;
        }
        write_name(out, name);
        write_string(out, &String::from_utf8_lossy(&value));
    }
    out.push(b'}');
}

/// Appends the name of the next member of an object.
pub(crate) fn write_name(out: &mut Vec<u8>, name: &str) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    write_string(out, name);
    out.push(b':');
}

/// A name that is not found would leave a secret in the event.
pub(super) fn header_name(ruby: &Ruby, name: Value) -> Result<RString, Error> {
    let refuse = |class, what| Error::new(class, format!("Names of headers are {what}, not {}.", name.inspect()));
    let text = RString::from_value(name).ok_or_else(|| refuse(ruby.exception_type_error(), "Strings"))?;
    // SAFETY: the String is on this stack, and no Ruby code runs meanwhile.
    let is_lower = unsafe { text.as_slice() }.iter().all(|byte| !byte.is_ascii_uppercase());
    is_lower.then_some(text).ok_or_else(|| refuse(ruby.exception_arg_error(), "in lower case"))
}
