//! The refusals of requests: one constructor per reason, with the status and the stable code.

use std::fmt::Write;

/// Digits of a Content-Length that always fit 64 bits.
pub(super) const CONTENT_LENGTH_DIGITS_MAX: usize = 19;

/// The refusal of a message. The connection sends it as problem+json and closes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rejection {
    /// HTTP status, 4xx or 5xx.
    pub(crate) status: u16,
    /// Stable code for programs.
    pub(crate) code: &'static str,
    /// A sentence for people, in printable ASCII only.
    pub(crate) detail: String,
}

/// Bytes of the client's text that a detail quotes.
const SHOWN_BYTES_MAX: usize = 48;

fn shown(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    let front = &bytes[..bytes.len().min(SHOWN_BYTES_MAX)];
    write!(text, "{}", front.escape_ascii()).expect("a String takes every write");
    text.push_str(if front.len() < bytes.len() { "...\"" } else { "\"" });
    text
}

impl Rejection {
    #[cold]
    fn new(status: u16, code: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, detail: detail.into() }
    }

    pub(super) fn request_line() -> Self {
        Self::new(
            400,
            "invalid_request_line",
            "The request line must be a method, one space, a target, one space and HTTP/1.1, with nothing before it.",
        )
    }

    pub(super) fn method(method: &[u8]) -> Self {
        let shown = shown(method);
        Self::new(400, "invalid_method", format!("The method {shown} is not made of upper-case letters, digits and token signs."))
    }

    pub(super) fn method_not_implemented(method: &[u8]) -> Self {
        Self::new(501, "method_not_implemented", format!("The method {} is not one that this server implements.", shown(method)))
    }

    pub(super) fn target(target: &[u8]) -> Self {
        Self::new(
            400,
            "invalid_target",
            format!(
                "The target {} is neither a path that begins with / nor an http:// URL, or holds bytes that must be percent-encoded.",
                shown(target)
            ),
        )
    }

    pub(super) fn target_too_long(bytes_max: usize) -> Self {
        Self::new(414, "target_too_long", format!("The target is longer than {bytes_max} bytes."))
    }

    pub(super) fn version(version: &[u8]) -> Self {
        Self::new(505, "http_version_not_supported", format!("The version {} is not HTTP/1.x.", shown(version)))
    }

    pub(super) fn bare_line_feed() -> Self {
        Self::new(400, "invalid_line_end", "A line ends in LF alone; every line must end in CR LF.")
    }

    pub(super) fn head_too_large(bytes_max: usize) -> Self {
        Self::new(431, "headers_too_large", format!("The request line and headers are longer than {bytes_max} bytes."))
    }

    pub(super) fn too_many_headers(headers_max: usize) -> Self {
        Self::new(431, "too_many_headers", format!("The request has more than {headers_max} header lines."))
    }

    pub(super) fn folded_header() -> Self {
        Self::new(400, "folded_header", "A header line begins with a space or tab; folded headers are not accepted.")
    }

    pub(super) fn header_name(line: &[u8]) -> Self {
        Self::new(
            400,
            "invalid_header_name",
            format!("The header line {} has no valid name followed directly by a colon.", shown(line)),
        )
    }

    pub(super) fn header_value(name: &[u8]) -> Self {
        Self::new(400, "invalid_header_value", format!("The value of the header {} holds a control byte.", shown(name)))
    }

    pub(super) fn ambiguous_header(name: &[u8]) -> Self {
        let shown = shown(name);
        Self::new(
            400,
            "ambiguous_header",
            format!(
                "The header {shown} differs only in dashes and underscores from another header or from one that frames the message."
            ),
        )
    }

    pub(super) fn repeated_content_type() -> Self {
        Self::new(400, "ambiguous_header", "The request has more than one Content-Type header.")
    }

    pub(super) fn host_count(hosts: usize) -> Self {
        Self::new(400, "invalid_host", format!("The request has {hosts} Host headers; exactly one is needed."))
    }

    pub(super) fn host(host: &[u8]) -> Self {
        Self::new(
            400,
            "invalid_host",
            format!("The host {} is not a host name or IP address with an optional port.", shown(host)),
        )
    }

    pub(super) fn host_mismatch(host: &[u8], authority: &[u8]) -> Self {
        let (host, authority) = (shown(host), shown(authority));
        Self::new(400, "invalid_host", format!("The Host header {host} is not the host of the target, {authority}."))
    }

    pub(super) fn content_length(value: &[u8]) -> Self {
        Self::new(
            400,
            "invalid_content_length",
            format!("The Content-Length {} is not a number of 1 to {CONTENT_LENGTH_DIGITS_MAX} decimal digits.", shown(value)),
        )
    }

    pub(super) fn repeated_content_length() -> Self {
        Self::new(400, "invalid_content_length", "The request has more than one Content-Length header.")
    }

    pub(super) fn transfer_encoding(value: &[u8]) -> Self {
        Self::new(400, "invalid_transfer_encoding", format!("The Transfer-Encoding {} is not exactly \"chunked\".", shown(value)))
    }

    pub(super) fn repeated_transfer_encoding() -> Self {
        Self::new(400, "invalid_transfer_encoding", "The request has more than one Transfer-Encoding header.")
    }

    pub(super) fn transfer_encoding_in_1_0() -> Self {
        Self::new(400, "invalid_transfer_encoding", "HTTP/1.0 has no Transfer-Encoding.")
    }

    pub(super) fn transfer_encoding_not_implemented(value: &[u8]) -> Self {
        Self::new(
            501,
            "transfer_encoding_not_implemented",
            format!("Of the Transfer-Encoding {} this server implements \"chunked\" alone.", shown(value)),
        )
    }

    pub(super) fn ambiguous_length() -> Self {
        Self::new(400, "ambiguous_body_length", "The request has both a Transfer-Encoding and a Content-Length.")
    }

    pub(super) fn body_too_large(bytes_max: u64) -> Self {
        Self::new(413, "body_too_large", format!("The body is longer than {bytes_max} bytes."))
    }

    pub(super) fn expectation(value: &[u8]) -> Self {
        Self::new(417, "expectation_failed", format!("The expectation {} is not \"100-continue\".", shown(value)))
    }

    pub(super) fn chunk(detail: impl Into<String>) -> Self {
        Self::new(400, "invalid_chunk", detail)
    }

    pub(super) fn trailer(name: &[u8]) -> Self {
        Self::new(400, "invalid_trailer", format!("The field {} is not allowed as a trailer.", shown(name)))
    }

    pub(super) fn trailers_too_large(detail: impl Into<String>) -> Self {
        Self::new(431, "trailers_too_large", detail)
    }
}
