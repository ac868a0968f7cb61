//! The server's own error responses, as `application/problem+json` (RFC 9457).

use std::borrow::Cow;
use std::fmt::Write;

/// An error response with a stable code. `detail` is a sentence for people; `code` is for programs and never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub status: u16,
    pub code: Cow<'static, str>,
    pub detail: String,
}

impl Problem {
    pub fn new(status: u16, code: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        Problem { status, code: code.into(), detail: detail.into() }
    }

    /// The JSON body, with the request's ID in the log.
    pub fn to_json(&self, request_id: &str) -> String {
        let mut json = String::with_capacity(192 + self.detail.len());
        json.push_str("{\"type\":\"about:blank\",\"title\":");
        push_string(&mut json, reason(self.status));
        let _ = write!(json, ",\"status\":{},\"detail\":", self.status);
        push_string(&mut json, &self.detail);
        json.push_str(",\"code\":");
        push_string(&mut json, &self.code);
        json.push_str(",\"request_id\":");
        push_string(&mut json, request_id);
        json.push('}');
        json
    }
}

/// The reason phrase of a status, "Unknown" if it has none.
pub fn reason(status: u16) -> &'static str {
    http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Unknown")
}

fn push_string(json: &mut String, text: &str) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            control if control < ' ' => {
                let _ = write!(json, "\\u{:04x}", u32::from(control));
            }
            other => json.push(other),
        }
    }
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_with_quotes_and_control_bytes_stays_valid_json() {
        let json = Problem::new(400, "bad_header", "A \"quoted\"\u{1}\\ name.").to_json("r-1");
        assert_eq!(
            json,
            r#"{"type":"about:blank","title":"Bad Request","status":400,"detail":"A \"quoted\"\u0001\\ name.","code":"bad_header","request_id":"r-1"}"#
        );
    }
}
