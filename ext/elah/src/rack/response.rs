//! The conversion of a Rack app's result into a response: its headers, and, for a body that is an Array of Strings, the whole
//! response in one step.

use bytes::{Bytes, BytesMut};
use elah_http::response::{Headers, InvalidHeader, LONG_BODY_BYTES, Response};
use magnus::r_hash::ForEach;
use magnus::rb_sys::AsRawValue;
use magnus::value::ReprValue;
use magnus::{Error, Fixnum, Module, Object, RArray, RClass, RHash, RModule, RString, Ruby, Value, function, method};
use memchr::memchr;

use crate::ruby::errors;
use crate::ruby::receiver::Receiver;
use crate::server::header_set::HeaderSet;
use crate::server::request::Request;

/// The parsed headers of a Rack response.
#[derive(Debug, Default)]
struct RackHeaders {
    /// Without `content-length`, `status` and headers for the server.
    headers: Headers,
    /// The value of `content-length`, if it is a number.
    content_length: Option<u64>,
    /// The app takes the connection over after the head.
    takes_over: bool,
    /// The app has framed the body itself.
    is_framed: bool,
}

/// The headers that the server drops because they frame the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    OfServer,
    OfApp,
}

impl RackHeaders {
    /// Reads names in any case, and values that are a String with one value per line (Rack 2) or an Array of Strings (Rack 3).
    fn read(ruby: &Ruby, hash: RHash, framing: Framing) -> Result<Self, Error> {
        let mut read = RackHeaders::default();
        hash.foreach(|name: Value, value: Value| {
            let name = text(name)?;
            match RArray::from_value(value) {
                Some(values) => {
                    for index in 0..values.len() {
                        read.add(ruby, name, values.entry(index as isize)?, framing)?;
                    }
                }
                None => read.add(ruby, name, value, framing)?,
            }
            Ok(ForEach::Continue)
        })?;
        Ok(read)
    }

    fn add(&mut self, ruby: &Ruby, name: RString, value: Value, framing: Framing) -> Result<(), Error> {
        // SAFETY: `name` stays on the stack, and a Hash key is frozen.
        let name_bytes = unsafe { name.as_slice() };
        if let Some(prefix) = name_bytes.get(..5)
            && prefix.eq_ignore_ascii_case(b"rack.")
        {
            self.takes_over |= name_bytes[5..].eq_ignore_ascii_case(b"hijack") && !value.is_nil();
            return Ok(());
        }
        if value.is_nil() || name_bytes.eq_ignore_ascii_case(b"status") {
            return Ok(());
        }
        let value = text(value)?;
        // SAFETY: the bytes are copied before Ruby runs again.
        let added = unsafe { self.add_lines(name.as_slice(), value.as_slice(), framing) };
        added.map_err(|error| Error::new(errors::class(ruby, "InvalidHeader"), error.to_string()))
    }

    fn add_lines(&mut self, name: &[u8], value: &[u8], framing: Framing) -> Result<(), InvalidHeader> {
        if framing == Framing::OfApp {
            return lines(value).try_for_each(|line| self.headers.append_unframed(name, line));
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            let digits = std::str::from_utf8(value).ok().filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
            self.content_length = self.content_length.or_else(|| digits.and_then(|digits| digits.parse().ok()));
            return Ok(());
        }
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.is_framed = true;
            return Ok(());
        }
        lines(value).try_for_each(|line| self.headers.append(name, line))
    }

    fn with_length(mut self, length: Option<u64>) -> Headers {
        if let Some(length) = length {
            // Digits are a valid value.
            let _ = self.headers.append(b"content-length", itoa::Buffer::new().format(length).as_bytes());
        }
        self.headers
    }
}

/// The values of a header: its non-empty lines, or the value itself if it has no line break.
fn lines(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_one = memchr(b'\n', value).is_none();
    value.split(|byte| *byte == b'\n').filter(move |line| is_one || !line.is_empty())
}

fn text(value: Value) -> Result<RString, Error> {
    match RString::from_value(value) {
        Some(string) => Ok(string),
        None => value.to_r_string(),
    }
}

/// `respond_to_rack(status, headers, body)`: responds if the body is an Array of Strings and nothing remains to be done
/// afterwards. Otherwise, or if the body is long, it sends nothing and returns false.
fn respond(ruby: &Ruby, request: Receiver<Request>, status: Value, headers: Value, body: Value) -> Result<bool, Error> {
    let Some(status) = Fixnum::from_value(status).and_then(|status| status.to_u16().ok()).filter(|status| is_final(*status))
    else {
        return Ok(false);
    };
    let (Some(headers), Some(parts)) = (RHash::from_value(headers), RArray::from_value(body)) else { return Ok(false) };
    if body.class().as_raw() != ruby.class_array().as_raw() || !request.rack().ends_with_response() {
        return Ok(false);
    }
    let read = RackHeaders::read(ruby, headers, Framing::OfServer)?;
    if read.takes_over || read.is_framed {
        return Ok(false);
    }
    // SAFETY: Ruby does not run while the parts are borrowed.
    let Some(bytes) = (unsafe { joined(parts.as_slice()) }) else { return Ok(false) };
    let is_head = request.read(ruby, |view| view.method() == "HEAD")?;
    let response = if is_bodiless(status) {
        Response::new(status, read.headers, Bytes::new())
    } else if is_head {
        let length = read.content_length.or(Some(bytes.len() as u64).filter(|length| *length > 0));
        Response::new(status, read.with_length(length), Bytes::new())
    } else {
        Response::new(status, read.headers, bytes)
    };
    if let Some(response) = response {
        request.respond_with(ruby, response)?;
    }
    Ok(true)
}

/// The joined Strings; `None` if there is anything else among them, or too much to copy at once.
///
/// # Safety
///
/// Ruby must not run meanwhile.
unsafe fn joined(parts: &[Value]) -> Option<Bytes> {
    if let [part] = parts {
        let part = RString::from_value(*part)?;
        // SAFETY: the bytes are copied at once.
        return Some(unsafe { part.as_slice() }).filter(|part| part.len() <= LONG_BODY_BYTES).map(Bytes::copy_from_slice);
    }
    let mut joined = BytesMut::new();
    for part in parts {
        let part = RString::from_value(*part)?;
        // SAFETY: as above.
        joined.extend_from_slice(unsafe { part.as_slice() });
        if joined.len() > LONG_BODY_BYTES {
            return None;
        }
    }
    Some(joined.freeze())
}

fn is_final(status: u16) -> bool {
    (200..600).contains(&status)
}

/// 204, 205 and 304 have no content.
fn is_bodiless(status: u16) -> bool {
    matches!(status, 204..=205 | 304)
}

/// `HeaderSet.from_rack(headers, length)`: the headers of a Rack response, with this `content-length` or, for nil, without.
fn header_set(ruby: &Ruby, headers: RHash, length: Option<u64>) -> Result<HeaderSet, Error> {
    let read = RackHeaders::read(ruby, headers, Framing::OfServer)?;
    Ok(HeaderSet::of(read.with_length(length)))
}

/// `request.rack_head(status, headers)`: the head of a response as bytes, for an app that takes the connection over.
fn head(ruby: &Ruby, request: Receiver<Request>, status: u16, headers: RHash) -> Result<RString, Error> {
    let read = RackHeaders::read(ruby, headers, Framing::OfApp)?;
    let protocol = request.read(ruby, |view| view.protocol())?;
    let bytes = read.headers.to_head(protocol, status).ok_or_else(|| {
        let message = format!("{status} is not the status of a response; those are 101 and 200 to 599.");
        Error::new(errors::class(ruby, "InvalidStatus"), message)
    })?;
    Ok(ruby.str_from_slice(&bytes))
}

pub(crate) fn init(elah: RModule) -> Result<(), Error> {
    let request: RClass = elah.const_get("Request")?;
    request.define_method("respond_to_rack", method!(respond, 3))?;
    request.define_method("rack_head", method!(head, 2))?;
    let set: RClass = elah.const_get("HeaderSet")?;
    set.define_singleton_method("from_rack", function!(header_set, 2))?;
    Ok(())
}
