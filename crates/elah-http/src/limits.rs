//! The limits of a worker. Their defaults, ranges and descriptions are in the options table of the Ruby library; this struct has
//! no `Default`.

/// Every limit that the worker enforces before or around the application.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections open at once; the next ones wait in the kernel's backlog.
    pub connections_max: usize,
    /// Requests running at once, one fiber each.
    pub fibers_max: usize,
    /// Requests that may wait for a fiber.
    pub queue_max: usize,
    /// Milliseconds that a request may wait for a fiber before it gets a 503.
    pub queue_ms: u64,
    /// Bytes of a request head, request line included.
    pub header_bytes_max: usize,
    /// Header lines in a request head.
    pub headers_max: usize,
    /// Bytes of a request target.
    pub uri_bytes_max: usize,
    /// Bytes of a request body, with any framing.
    pub body_bytes_max: u64,
    /// Bytes of a request body kept in memory; a longer one is spooled to an unlinked file.
    pub body_memory_bytes: usize,
    /// Milliseconds from the first to the last byte of a request head, and for the first byte of a fresh connection.
    pub header_ms: u64,
    /// Milliseconds without progress of a request body.
    pub body_ms: u64,
    /// Milliseconds that a connection may idle between two requests.
    pub keepalive_ms: u64,
    /// Milliseconds from a complete request to the start of its response.
    pub request_ms: u64,
    /// Milliseconds without progress of a response that the client does not read.
    pub write_ms: u64,
    /// Bytes of a streamed response that the client has not read yet.
    pub response_buffer_bytes: usize,
    /// Requests read ahead of the one in progress on a connection.
    pub pipeline_max: u64,
}
