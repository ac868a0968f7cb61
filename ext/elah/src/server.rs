//! Requests and responses as Ruby objects, sockets, the router and the scoreboard.

pub(crate) mod header_set;
pub(crate) mod listening_socket;
pub(crate) mod media_types;
pub(crate) mod pipe_room;
pub(crate) mod request;
pub(crate) mod response_stream;
pub(crate) mod router;
pub(crate) mod scoreboard;
pub(crate) mod shutdown_watchdog;
pub(crate) mod stall;
pub(crate) mod stop_signals;
