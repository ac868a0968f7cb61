//! Links over TCP: workers in the loop of a test, with certificates made for it.
#![allow(clippy::unwrap_used, reason = "it fails the test, and names the line")]

#[cfg(feature = "tls")]
mod certificates;
mod loopback;
#[cfg(feature = "tls")]
mod strangers;
#[cfg(feature = "tls")]
mod tls;
mod workers;
