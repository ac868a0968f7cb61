//! The check of a request head, line by line: request line, header lines, and their combination.
//!
//! A line is checked when it is complete. So the verdict does not depend on how the bytes were split into reads, and each byte is
//! searched for the line's end once, however slowly it arrives.

use std::collections::HashMap;
use std::ops::Range;

use memchr::memchr;

use super::GuardLimits;
use super::bytes::{METHOD, PATH, QUERY, TOKEN, UNDERSCORE, class_of, count_of, trimmed, without_blanks_before, without_spaces};
use super::field::split_field;
use super::framing::{Body, Framing};
use super::host::Host;
use super::rejection::Rejection;

/// The longest registered method, UPDATEREDIRECTREF, has 17 bytes.
const METHOD_BYTES_MAX: usize = 32;
/// Bytes of a request line besides method and target: two spaces, version, CR LF.
const REQUEST_LINE_BYTES: usize = 12;

/// A complete head that may pass.
#[derive(Debug)]
pub(super) struct Head {
    /// Its length in bytes, including the empty line.
    pub(super) bytes: usize,
    pub(super) body: Body,
    /// The position of the digit of a minor version above 1.
    pub(super) later_minor_at: Option<usize>,
}

/// The progress in one head. All offsets count from its first byte.
#[derive(Debug, Default)]
pub(super) struct HeadScan {
    /// The start of the first unchecked line.
    line_start: usize,
    /// The position up to which that line is known to contain no LF.
    searched: usize,
    /// Whether a byte has come after the empty line that may precede a request.
    is_started: bool,
    has_request_line: bool,
    is_http_1_1: bool,
    later_minor_at: Option<usize>,
    has_underscore: bool,
    headers: usize,
    /// The start of the header lines.
    fields_start: usize,
    content_types: usize,
    hosts: usize,
    /// The value of the last Host header.
    host: Range<usize>,
    /// The authority of an absolute target, and the default port of its scheme.
    authority: Option<(Range<usize>, u16)>,
    framing: Framing,
}

impl HeadScan {
    pub(super) fn is_started(&self) -> bool {
        self.is_started
    }

    /// Continues in `input`, which begins with the head's first byte. `None` while the head is incomplete.
    pub(super) fn scan(&mut self, input: &[u8], limits: &GuardLimits) -> Result<Option<Head>, Rejection> {
        if !self.is_started {
            self.begin(input)?;
        }
        while let Some(found) = memchr(b'\n', &input[self.searched..]) {
            let line_end = self.searched + found + 1;
            self.check_line_end(line_end, limits)?;
            let line = match &input[self.line_start..line_end] {
                [line @ .., b'\r', b'\n'] => line,
                _ => return Err(Rejection::bare_line_feed()),
            };
            let offset = self.line_start;
            (self.line_start, self.searched) = (line_end, line_end);
            if self.has_request_line {
                if line.is_empty() {
                    let body = self.finish(&input[self.fields_start..line_end], input, limits)?;
                    return Ok(Some(Head { bytes: line_end, body, later_minor_at: self.later_minor_at }));
                }
                self.header(line, offset, limits)?;
            } else if !(line.is_empty() && offset == 0) {
                self.request_line(line, offset, limits)?;
            }
            if !self.is_started {
                self.begin(input)?;
            }
        }
        self.searched = input.len();
        // The missing LF is at input.len() or later.
        self.check_line_end(input.len() + 1, limits)?;
        Ok(None)
    }

    /// Refuses early what cannot be a request: a TLS hello, leading spaces, binary data. RFC 9112 2.2 asks servers to ignore one
    /// empty line before a request, which old clients send after a body.
    fn begin(&mut self, input: &[u8]) -> Result<(), Rejection> {
        match input.get(self.line_start) {
            None => Ok(()),
            Some(b'\r') if self.line_start == 0 => Ok(()),
            Some(&first) if class_of(first) & TOKEN != 0 => {
                self.is_started = true;
                Ok(())
            }
            Some(_) => Err(Rejection::request_line()),
        }
    }

    /// Checks the limits of a line whose LF is at `line_end - 1` or later.
    fn check_line_end(&self, line_end: usize, limits: &GuardLimits) -> Result<(), Rejection> {
        if !self.has_request_line {
            let bytes_max = limits.uri_bytes_max + METHOD_BYTES_MAX + REQUEST_LINE_BYTES;
            if bytes_max <= limits.header_bytes_max && line_end - self.line_start > bytes_max {
                return Err(Rejection::target_too_long(limits.uri_bytes_max));
            }
        }
        if line_end > limits.header_bytes_max {
            return Err(Rejection::head_too_large(limits.header_bytes_max));
        }
        Ok(())
    }

    fn request_line(&mut self, line: &[u8], offset: usize, limits: &GuardLimits) -> Result<(), Rejection> {
        let method_bytes = count_of(METHOD, line);
        let (method, rest) = line.split_at(method_bytes);
        match (method, rest) {
            (_, []) => return Err(Rejection::request_line()),
            ([_, ..], [b' ', ..]) => {}
            _ => return Err(Rejection::method(line.split(|&byte| byte == b' ').next().unwrap_or(line))),
        }
        let target = match &rest[1..] {
            [target @ .., b' ', b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ b'0'..=b'9'] => {
                self.is_http_1_1 = *minor != b'0';
                self.later_minor_at = (*minor > b'1').then_some(offset + line.len() - 1);
                target
            }
            rest => return Err(version_fault(rest)),
        };
        if target.len() > limits.uri_bytes_max {
            return Err(Rejection::target_too_long(limits.uri_bytes_max));
        }
        if method.len() > METHOD_BYTES_MAX || method == b"CONNECT" {
            return Err(Rejection::method_not_implemented(method));
        }
        match target {
            [b'/', ..] if is_path_and_query(target) => {}
            b"*" if method == b"OPTIONS" => {}
            _ => {
                let (authority, default_port) = absolute_form(target).ok_or_else(|| Rejection::target(target))?;
                let start = offset + method_bytes + 1;
                self.authority = Some((start + authority.start..start + authority.end, default_port));
            }
        }
        self.has_request_line = true;
        self.fields_start = self.line_start;
        Ok(())
    }

    fn header(&mut self, line: &[u8], offset: usize, limits: &GuardLimits) -> Result<(), Rejection> {
        let (name, value, classes) = split_field(line)?;
        self.has_underscore |= classes & UNDERSCORE != 0;
        self.headers += 1;
        if self.headers > limits.headers_max {
            return Err(Rejection::too_many_headers(limits.headers_max));
        }
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => {
                let host = trimmed(value);
                Host::parse(host).ok_or_else(|| Rejection::host(host))?;
                self.hosts += 1;
                let start = offset + line.len() - without_blanks_before(value).len();
                self.host = start..start + host.len();
            }
            6 if name.eq_ignore_ascii_case(b"expect") => {
                let expectation = trimmed(value);
                if !expectation.eq_ignore_ascii_case(b"100-continue") {
                    return Err(Rejection::expectation(expectation));
                }
            }
            12 if name.eq_ignore_ascii_case(b"content-type") => {
                self.content_types += 1;
                if self.content_types > 1 {
                    return Err(Rejection::repeated_content_type());
                }
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => self.framing.content_length(without_spaces(value))?,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.framing.transfer_encoding(without_spaces(value))?,
            // In a CGI-like environment these have the names of the framing headers, so they are never harmless.
            14 if name.eq_ignore_ascii_case(b"content_length") => return Err(Rejection::ambiguous_header(name)),
            17 if name.eq_ignore_ascii_case(b"transfer_encoding") => return Err(Rejection::ambiguous_header(name)),
            _ => {}
        }
        Ok(())
    }

    /// Checks the combination of the header lines.
    fn finish(&self, fields: &[u8], input: &[u8], limits: &GuardLimits) -> Result<Body, Rejection> {
        if self.hosts > 1 || (self.hosts == 0 && self.is_http_1_1) {
            return Err(Rejection::host_count(self.hosts));
        }
        if let Some((authority, default_port)) = &self.authority {
            self.check_same_host(&input[authority.clone()], *default_port, input)?;
        }
        if self.has_underscore
            && let Some(name) = ambiguous_name(fields)
        {
            return Err(Rejection::ambiguous_header(name));
        }
        self.framing.body(self.is_http_1_1, limits)
    }

    /// RFC 9112 3.2.2 says that the target wins over a different Host header. Refusing leaves no room for two readings.
    fn check_same_host(&self, authority: &[u8], default_port: u16, input: &[u8]) -> Result<(), Rejection> {
        let host = &input[self.host.clone()];
        match (Host::parse(authority), Host::parse(host)) {
            (Some(target), Some(header)) if target.is_same(&header, default_port) => Ok(()),
            (Some(_), None) if self.hosts == 0 => Ok(()),
            _ => Err(Rejection::host_mismatch(host, authority)),
        }
    }
}

/// Distinguishes a well-formed, unsupported version from a line that is not a request line.
fn version_fault(rest: &[u8]) -> Rejection {
    let word = rest.rsplit(|&byte| byte == b' ').next().unwrap_or(rest);
    match word {
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor] if major.is_ascii_digit() && minor.is_ascii_digit() => {
            Rejection::version(word)
        }
        _ => Rejection::request_line(),
    }
}

fn is_path_and_query(target: &[u8]) -> bool {
    match &target[count_of(PATH, target)..] {
        [] => true,
        [b'?', query @ ..] => count_of(QUERY, query) == query.len(),
        _ => false,
    }
}

/// The authority of an `http://` or `https://` target and the scheme's default port; `None` for any other target.
fn absolute_form(target: &[u8]) -> Option<(Range<usize>, u16)> {
    let scheme_bytes = memchr(b':', target)?;
    let default_port = match target.get(..scheme_bytes)? {
        scheme if scheme.eq_ignore_ascii_case(b"http") => 80,
        scheme if scheme.eq_ignore_ascii_case(b"https") => 443,
        _ => return None,
    };
    let start = scheme_bytes + 3;
    if target.get(scheme_bytes..start)? != b"://" {
        return None;
    }
    let end = target[start..].iter().position(|byte| matches!(byte, b'/' | b'?')).map_or(target.len(), |at| start + at);
    Host::parse(&target[start..end])?;
    is_path_and_query(&target[end..]).then_some((start..end, default_port))
}

/// A name that occurs twice in `fields` with different dashes and underscores. In a CGI-like environment, where `-` becomes `_`,
/// one header would overwrite the other (CVE-2024-45614).
fn ambiguous_name(fields: &[u8]) -> Option<&[u8]> {
    let mut spellings: HashMap<Vec<u8>, &[u8]> = HashMap::new();
    fields.split(|&byte| byte == b'\n').find_map(|line| {
        let name = &line[..memchr(b':', line)?];
        let folded = name.iter().map(|byte| if *byte == b'_' { b'-' } else { byte.to_ascii_lowercase() }).collect();
        let first = spellings.entry(folded).or_insert(name);
        (!first.eq_ignore_ascii_case(name)).then_some(name)
    })
}
