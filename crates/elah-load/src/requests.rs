//! The requests as bytes, one per path or line of a file, built once before the first is sent.

use std::cell::RefCell;
use std::fs;

use crate::options::Options;

/// What a response must look like to count.
#[derive(Debug)]
pub(crate) struct Expectation {
    pub(crate) status: u16,
    pub(crate) body: Option<Vec<u8>>,
    /// The method is HEAD: a response has no body whatever its Content-Length says.
    pub(crate) is_head: bool,
}

/// The prepared requests and the seeded choice among them.
#[derive(Debug)]
pub(crate) struct Requests {
    bytes: Vec<Vec<u8>>,
    random: RefCell<fastrand::Rng>,
    pub(crate) expectation: Expectation,
}

impl Requests {
    /// Builds the bytes of every request.
    ///
    /// # Errors
    /// A sentence when a file cannot be read, holds no request or a wrong one, or a header has no colon.
    pub(crate) fn new(options: &Options) -> Result<Self, String> {
        let text = match &options.paths {
            None => options.url.path.clone(),
            Some(file) => fs::read_to_string(file).map_err(|error| format!("--paths {}: {error}", file.display()))?,
        };
        let shared = Shared::new(options)?;
        let bytes =
            text.lines().filter(|line| !line.is_empty()).map(|line| shared.request(line)).collect::<Result<Vec<_>, _>>()?;
        if bytes.is_empty() {
            return Err("--paths names a file without a path in it".to_owned());
        }
        Ok(Self {
            bytes,
            random: RefCell::new(fastrand::Rng::with_seed(options.seed)),
            expectation: Expectation {
                status: options.expect_status,
                body: options.expect_body.as_ref().map(|body| body.clone().into_bytes()),
                is_head: options.method == "HEAD",
            },
        })
    }

    /// The bytes of the next request.
    pub(crate) fn choose(&self) -> &[u8] {
        let index = if self.bytes.len() == 1 { 0 } else { self.random.borrow_mut().usize(..self.bytes.len()) };
        &self.bytes[index]
    }
}

/// What all requests have, unless a line says otherwise.
struct Shared {
    method: String,
    headers: String,
    body: Option<Vec<u8>>,
}

impl Shared {
    fn new(options: &Options) -> Result<Self, String> {
        let body = match options.body.as_deref() {
            None => None,
            Some(text) => Some(match text.strip_prefix('@') {
                Some(file) => fs::read(file).map_err(|error| format!("--body {text}: {error}"))?,
                None => text.as_bytes().to_vec(),
            }),
        };
        let mut headers = format!("Host: {}\r\n", options.url.authority);
        for header in &options.headers {
            let (name, value) = header.split_once(':').ok_or_else(|| format!("--header {header:?} must read \"Name: value\""))?;
            headers.push_str(&format!("{}: {}\r\n", name.trim(), value.trim()));
        }
        Ok(Self { method: options.method.clone(), headers, body })
    }

    /// The bytes of one request: a path, or verb, path and JSON body with tabs between them.
    fn request(&self, line: &str) -> Result<Vec<u8>, String> {
        let mut parts = line.splitn(3, '\t');
        let (verb, path, json) = match (parts.next(), parts.next(), parts.next()) {
            (Some(verb), Some(path), Some(json)) => (verb, path, Some(json.as_bytes())),
            _ => (self.method.as_str(), line, None),
        };
        if !path.starts_with('/') || path.contains([' ', '\t']) {
            return Err(format!("the path {path:?} must start with / and hold no space"));
        }
        let mut head = format!("{verb} {path} HTTP/1.1\r\n{}", self.headers);
        if json.is_some() {
            head.push_str("Content-Type: application/json\r\n");
        }
        let body = json.or(self.body.as_deref());
        if let Some(body) = body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        Ok([head.as_bytes(), body.unwrap_or_default()].concat())
    }
}
