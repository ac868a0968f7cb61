//! The requests as bytes, one per path, built once before the first is sent.

use std::cell::RefCell;
use std::fs;

use crate::options::Options;

/// What an answer must look like to count.
#[derive(Debug)]
pub(crate) struct Expectation {
    pub(crate) status: u16,
    pub(crate) body: Option<Vec<u8>>,
    /// The method is HEAD: an answer has no body whatever its Content-Length says.
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
    /// A sentence when a file cannot be read, holds no path, or a header has no colon.
    pub(crate) fn new(options: &Options) -> Result<Self, String> {
        let paths = match &options.paths {
            None => vec![options.url.path.clone()],
            Some(file) => {
                let text = fs::read_to_string(file).map_err(|error| format!("--paths {}: {error}", file.display()))?;
                text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
            }
        };
        if paths.is_empty() {
            return Err("--paths names a file without a path in it".to_owned());
        }
        if let Some(path) = paths.iter().find(|path| !path.starts_with('/') || path.contains(' ')) {
            return Err(format!("the path {path:?} must start with / and hold no space"));
        }
        let tail = tail(options)?;
        let bytes =
            paths.iter().map(|path| [format!("{} {path} HTTP/1.1\r\n", options.method).as_bytes(), &tail].concat()).collect();
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

/// Everything after the request line, the same for every path: headers and body.
fn tail(options: &Options) -> Result<Vec<u8>, String> {
    let body = match options.body.as_deref() {
        None => None,
        Some(text) => Some(match text.strip_prefix('@') {
            Some(file) => fs::read(file).map_err(|error| format!("--body {text}: {error}"))?,
            None => text.as_bytes().to_vec(),
        }),
    };
    let mut head = format!("Host: {}\r\n", options.url.authority);
    for header in &options.headers {
        let (name, value) = header.split_once(':').ok_or_else(|| format!("--header {header:?} must read \"Name: value\""))?;
        head.push_str(&format!("{}: {}\r\n", name.trim(), value.trim()));
    }
    if let Some(body) = &body {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    Ok([head.into_bytes(), body.unwrap_or_default()].concat())
}
