//! Tests of every rule of the guard with example bytes, and of its properties over arbitrary byte streams.

use std::rc::Rc;

use super::{Guard, GuardLimits, Phase, Step};

mod fuzz;
mod properties;
mod rules;
mod specification;

/// Small limits, so that cases that exceed them stay readable.
fn limits() -> Rc<GuardLimits> {
    Rc::new(GuardLimits { header_bytes_max: 512, headers_max: 8, uri_bytes_max: 64, body_bytes_max: 1000 })
}

/// The outcome of a byte stream.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Verdict {
    passed_bytes: usize,
    /// Those bytes, as hyper gets them.
    passed: Vec<u8>,
    messages: u64,
    phase: Phase,
    /// Status and code.
    rejection: Option<(u16, &'static str)>,
}

/// Feeds `stream` to a guard in reads that end at `cuts`, as a connection does: bytes that have not passed are passed again.
fn judge(stream: &[u8], cuts: impl IntoIterator<Item = usize>) -> Verdict {
    let mut guard = Guard::new(limits());
    let mut passed_bytes = 0;
    let mut passed = Vec::new();
    let mut rejection = None;
    'reads: for end in cuts.into_iter().chain([stream.len()]) {
        while passed_bytes < end {
            match guard.step(&stream[passed_bytes..end]) {
                Step::Pass(bytes) => {
                    assert!(bytes > 0 && bytes <= end - passed_bytes, "Pass({bytes}) of {} bytes", end - passed_bytes);
                    let start = passed.len();
                    passed.extend_from_slice(&stream[passed_bytes..passed_bytes + bytes]);
                    guard.lower_version(&mut passed[start..]);
                    passed_bytes += bytes;
                }
                Step::NeedMore => break,
                Step::Reject(reason) => {
                    assert!(reason.detail.is_ascii() && reason.detail.ends_with('.'), "{}", reason.detail);
                    assert_eq!(guard.step(&stream[passed_bytes..]), Step::Reject(reason.clone()));
                    rejection = Some((reason.status, reason.code));
                    break 'reads;
                }
            }
        }
    }
    Verdict { passed_bytes, passed, messages: guard.messages(), phase: guard.phase(), rejection }
}
