//! `Elah::Request`: one HTTP request and the means to respond. The object holds a number; the worker has the request.

use std::ffi::OsString;
use std::io;
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use bytes::Bytes;
use elah_http::problem::Problem;
use elah_http::request::{BodyPlace, RequestView};
use elah_http::response::{Headers, LONG_BODY_BYTES, Response};
use elah_http::worker::{RequestId, Worker};
use elah_loop::wake::WaitId;
use magnus::value::ReprValue;
use magnus::{Class, DataTypeFunctions, Error, Module, RHash, RModule, RString, Ruby, TypedData, Value, gc, method};

use crate::concurrency::current_worker::worker;
use crate::concurrency::wait::park;
use crate::rack::state::RackState;
use crate::ruby::errors;
use crate::ruby::gvl::without_gvl;
use crate::ruby::native_class;
use crate::ruby::receiver::{ExactClass, Receiver};
use crate::server::header_set::{headers, headers_to};
use crate::server::media_types::{self, MediaTypes};
use crate::server::response_stream::ResponseStream;

/// `Elah::Request`, to recognise its instances quickly.
pub(crate) static CLASS: ExactClass = ExactClass::new();

#[derive(TypedData)]
#[magnus(class = "Elah::Request", mark, free_immediately, wb_protected)]
pub(crate) struct Request {
    id: RequestId,
    rack: RackState,
}

// SAFETY: Ruby moves the object between threads only with the GVL, under which every method runs.
unsafe impl Sync for Request {}

impl DataTypeFunctions for Request {
    fn mark(&self, marker: &gc::Marker) {
        self.rack.mark(marker);
    }
}

impl Request {
    pub(crate) fn new(id: RequestId) -> Self {
        Request { id, rack: RackState::new() }
    }

    pub(crate) fn rack(&self) -> &RackState {
        &self.rack
    }

    /// Responds, if the client still waits.
    pub(crate) fn respond_with(&self, ruby: &Ruby, response: Response) -> Result<bool, Error> {
        Ok(worker(ruby)?.respond(self.id, response))
    }

    pub(crate) fn read<R>(&self, ruby: &Ruby, read: impl FnOnce(RequestView<'_>) -> R) -> Result<R, Error> {
        worker(ruby)?.request(self.id, read).ok_or_else(|| finished(ruby))
    }

    pub(crate) fn id(&self) -> RequestId {
        self.id
    }

    fn key(&self) -> u64 {
        self.id.to_bits()
    }

    fn request_id(ruby: &Ruby, rb_self: &Self) -> Result<String, Error> {
        worker(ruby)?.request_id(rb_self.id).ok_or_else(|| finished(ruby))
    }

    /// Seconds until the request gets a 504; nil after its response has begun.
    fn seconds_left(ruby: &Ruby, rb_self: &Self) -> Result<Option<f64>, Error> {
        Ok(worker(ruby)?.seconds_left(rb_self.id))
    }

    fn request_method(ruby: &Ruby, rb_self: Receiver<Self>) -> Result<RString, Error> {
        rb_self.read(ruby, |request| ruby.str_new(request.method()))
    }

    fn path(ruby: &Ruby, rb_self: Receiver<Self>) -> Result<RString, Error> {
        rb_self.read(ruby, |request| ruby.str_new(request.path()))
    }

    fn query_string(ruby: &Ruby, rb_self: Receiver<Self>) -> Result<RString, Error> {
        rb_self.read(ruby, |request| ruby.str_new(request.query()))
    }

    fn has_query(ruby: &Ruby, rb_self: Receiver<Self>) -> Result<bool, Error> {
        rb_self.read(ruby, |request| !request.query().is_empty())
    }

    /// The format of an `Elah::MediaTypes` that the `Accept` header chooses; nil if the path has a dot or there is a query,
    /// because either may name another format.
    fn format_among(ruby: &Ruby, rb_self: Receiver<Self>, types: Value) -> Result<Value, Error> {
        let types = media_types::CLASS
            .native::<MediaTypes>(&types)
            .ok_or_else(|| Error::new(ruby.exception_type_error(), "format_among expects an Elah::MediaTypes."))?;
        rb_self.read(ruby, |request| {
            if request.path_and_query().bytes().any(|byte| byte == b'.' || byte == b'?') {
                return ruby.qnil().as_value();
            }
            types.format(request.accept().as_deref())
        })
    }

    fn protocol(ruby: &Ruby, rb_self: &Self) -> Result<RString, Error> {
        rb_self.read(ruby, |request| ruby.str_new(request.protocol()))
    }

    fn header(ruby: &Ruby, rb_self: Receiver<Self>, name: RString) -> Result<Option<RString>, Error> {
        // SAFETY: Ruby does not run while the name is borrowed: `enc_str_new` may collect garbage, which leaves `name` alone.
        let name = std::str::from_utf8(unsafe { name.as_slice() }).unwrap_or("");
        rb_self.read(ruby, |request| request.header(name).map(|value| text(ruby, &value)))
    }

    fn headers(ruby: &Ruby, rb_self: &Self) -> Result<RHash, Error> {
        rb_self.read(ruby, |request| {
            let hash = ruby.hash_new();
            for name in request.header_names() {
                if let Some(value) = request.header(name) {
                    hash.aset(ruby.str_new(name), text(ruby, &value))?;
                }
            }
            Ok(hash)
        })?
    }

    fn remote_ip(ruby: &Ruby, rb_self: &Self) -> Result<Option<String>, Error> {
        rb_self.read(ruby, |request| request.remote_ip())
    }

    fn local_port(ruby: &Ruby, rb_self: &Self) -> Result<u16, Error> {
        rb_self.read(ruby, |request| request.local_port())
    }

    fn route(ruby: &Ruby, rb_self: Receiver<Self>) -> Result<Option<u32>, Error> {
        rb_self.read(ruby, |request| request.route())
    }

    fn route_params(ruby: &Ruby, rb_self: Receiver<Self>) -> Result<RHash, Error> {
        rb_self.read(ruby, |request| {
            let hash = ruby.hash_new();
            for (name, value) in request.route_params() {
                hash.aset(ruby.str_new(name), ruby.str_new(value))?;
            }
            Ok(hash)
        })?
    }

    /// One of them, or nil. Cheaper than the Hash of all.
    fn route_param(ruby: &Ruby, rb_self: Receiver<Self>, wanted: RString) -> Result<Option<RString>, Error> {
        // SAFETY: Ruby does not run while the name is borrowed: `str_new` may collect garbage, which leaves `wanted` alone.
        let wanted = unsafe { wanted.as_slice() };
        rb_self.read(ruby, |request| {
            request.route_params().find(|(name, _)| name.as_bytes() == wanted).map(|(_, value)| ruby.str_new(value))
        })
    }

    /// `reroute(found, excluded)`: takes the route that `Elah::Router#match` has found after those with the IDs `excluded`.
    fn reroute(ruby: &Ruby, rb_self: &Self, _found: Value, excluded: Vec<u32>) -> Result<(), Error> {
        worker(ruby)?.reroute(rb_self.id, &excluded);
        Ok(())
    }

    /// The offset in `path` at which the part below a mount begins; nil for a route.
    fn mount_at(ruby: &Ruby, rb_self: &Self) -> Result<Option<usize>, Error> {
        rb_self.read(ruby, |request| request.mount_at())
    }

    /// The whole body, binary. A spooled one is read from its file without the GVL.
    fn body(ruby: &Ruby, rb_self: Receiver<Self>) -> Result<RString, Error> {
        if let Some(body) = rb_self.body_in_memory(ruby)? {
            return Ok(body);
        }
        let worker = worker(ruby)?;
        let Some(spooled) = worker.spooled(rb_self.id) else {
            rb_self.wait_for_body(ruby, &worker, worker.read_whole(rb_self.id))?;
            return rb_self.body_in_memory(ruby)?.ok_or_else(|| finished(ruby));
        };
        let (file, bytes) = spooled.map_err(|cause| unreadable(ruby, &cause))?;
        let mut content = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
        // By positions, as `rack.input` may be in the middle of the file.
        without_gvl(ruby, || file.read_exact_at(&mut content, 0), &|| {})?
            .unwrap_or_else(|| file.read_exact_at(&mut content, 0))
            .map_err(|cause| unreadable(ruby, &cause))?;
        let body = binary(ruby, &content);
        worker.replace_body(rb_self.id, Bytes::from(content));
        Ok(body)
    }

    fn body_in_memory(&self, ruby: &Ruby) -> Result<Option<RString>, Error> {
        self.read(ruby, |request| match request.body() {
            BodyPlace::Empty => Some(binary(ruby, b"")),
            BodyPlace::Memory(bytes) => Some(binary(ruby, &bytes)),
            BodyPlace::Spooled { .. } | BodyPlace::Streamed => None,
        })
    }

    /// True if the body comes in pieces, and has not been read whole.
    fn is_streamed(ruby: &Ruby, rb_self: &Self) -> Result<bool, Error> {
        rb_self.read(ruby, |request| matches!(request.body(), BodyPlace::Streamed))
    }

    /// A descriptor of the spooled body, which the caller owns. All of them share the position that `read` moves. Nil if the body is
    /// not in a file.
    fn open_spooled(ruby: &Ruby, rb_self: &Self) -> Result<Option<i32>, Error> {
        let Some(spooled) = worker(ruby)?.spooled(rb_self.id) else { return Ok(None) };
        spooled.map(|(file, _)| Some(file.into_raw_fd())).map_err(|cause| unreadable(ruby, &cause))
    }

    /// The next piece of the body, or nil at its end. Suspends the fiber until the client has sent it.
    fn read_chunk(ruby: &Ruby, rb_self: &Self) -> Result<Option<RString>, Error> {
        let worker = worker(ruby)?;
        let chunk = rb_self.wait_for_body(ruby, &worker, worker.read_chunk(rb_self.id))?;
        Ok(chunk.map(|chunk| binary(ruby, &chunk)))
    }

    fn wait_for_body(&self, ruby: &Ruby, worker: &Worker, wait: WaitId) -> Result<Option<Bytes>, Error> {
        let parked = park(ruby, wait);
        // Also if the fiber was cancelled, because the read would continue without it.
        let chunk = worker.take_chunk(wait);
        if let Err(error) = parked {
            if let Some(Ok(Some(chunk))) = chunk {
                worker.put_back(self.id, chunk);
            }
            return Err(error);
        }
        match chunk {
            Some(Ok(chunk)) => Ok(chunk),
            Some(Err(problem)) => Err(bad_request(ruby, &problem)?),
            None => Err(finished(ruby)),
        }
    }

    /// Responds. False if the request already has a response, for example by a deadline, or its client has disconnected. With a
    /// long body the fiber is suspended until the client has read nearly all of it.
    fn respond(ruby: &Ruby, rb_self: Receiver<Self>, status: u16, header: Value, body: RString) -> Result<bool, Error> {
        if body.len() > LONG_BODY_BYTES {
            return rb_self.respond_at_length(ruby, status, headers(ruby, header)?, body);
        }
        // SAFETY: the bytes are copied before Ruby runs again.
        rb_self.respond_whole(ruby, status, header, Bytes::copy_from_slice(unsafe { body.as_slice() }))
    }

    /// Like `respond`, with a body of at most `LONG_BODY_BYTES`.
    pub(crate) fn respond_whole(&self, ruby: &Ruby, status: u16, header: Value, body: Bytes) -> Result<bool, Error> {
        let response = Response::new(status, headers(ruby, header)?, body).ok_or_else(|| invalid_status(ruby, status))?;
        self.respond_with(ruby, response)
    }

    fn respond_at_length(&self, ruby: &Ruby, status: u16, mut headers: Headers, body: RString) -> Result<bool, Error> {
        headers.set_content_length(body.len());
        if self.read(ruby, |request| request.method() == "HEAD")? {
            let response = Response::new(status, headers, Bytes::new()).ok_or_else(|| invalid_status(ruby, status))?;
            return Ok(worker(ruby)?.respond(self.id, response));
        }
        if !(200..600).contains(&status) {
            return Err(invalid_status(ruby, status));
        }
        let Some(stream) = worker(ruby)?.start_stream(self.id, status, headers) else { return Ok(false) };
        ResponseStream::new(stream).write_whole(ruby, body)
    }

    /// Responds with an empty body, a Location and the headers.
    fn redirect(ruby: &Ruby, rb_self: Receiver<Self>, status: u16, location: RString, header: Value) -> Result<bool, Error> {
        let headers = headers_to(ruby, location, header)?;
        let response = Response::new(status, headers, Bytes::new()).ok_or_else(|| invalid_status(ruby, status))?;
        Ok(worker(ruby)?.respond(rb_self.id, response))
    }

    /// Responds with the content of a file, which is read at the client's pace.
    fn respond_with_file(ruby: &Ruby, rb_self: &Self, status: u16, header: Value, path: RString) -> Result<bool, Error> {
        let headers = headers(ruby, header)?;
        // SAFETY: the bytes are copied before Ruby runs again. A name may have bytes of any encoding.
        let path = PathBuf::from(OsString::from_vec(unsafe { path.as_slice() }.to_vec()));
        let unreadable = |cause| Error::new(ruby.exception_io_error(), format!("{} cannot be sent: {cause}.", path.display()));
        let file = std::fs::File::open(&path).map_err(unreadable)?;
        let bytes = file.metadata().map_err(unreadable)?.len();
        let response = Response::from_file(status, headers, file, bytes).ok_or_else(|| invalid_status(ruby, status))?;
        Ok(worker(ruby)?.respond(rb_self.id, response))
    }

    /// Responds with one of the server's problems.
    fn respond_with_problem(ruby: &Ruby, rb_self: &Self, status: u16, code: String, detail: String) -> Result<bool, Error> {
        Ok(worker(ruby)?.respond_with_problem(rb_self.id, &Problem::new(status, code, detail)))
    }

    /// Begins a streamed response.
    fn start(ruby: &Ruby, rb_self: &Self, status: u16, header: Value) -> Result<ResponseStream, Error> {
        let headers = headers(ruby, header)?;
        if !(200..600).contains(&status) {
            return Err(invalid_status(ruby, status));
        }
        worker(ruby)?.start_stream(rb_self.id, status, headers).map(ResponseStream::new).ok_or_else(|| finished(ruby))
    }

    /// True while a response can still reach the client.
    fn awaits_response(ruby: &Ruby, rb_self: &Self) -> Result<bool, Error> {
        Ok(worker(ruby)?.awaits_response(rb_self.id))
    }

    /// Takes the connection away from HTTP: its descriptor, and the bytes read from it so far.
    fn hijack(ruby: &Ruby, rb_self: &Self) -> Result<(i32, RString), Error> {
        let worker = worker(ruby)?;
        let wait = worker.hijack(rb_self.id).ok_or_else(|| finished(ruby))?;
        let parked = park(ruby, wait);
        // Also if the fiber was cancelled, because the connection would stay open without it.
        let taken = worker.take_hijacked(wait);
        parked?;
        match taken {
            Some(Ok((descriptor, unread))) => Ok((descriptor.into_raw_fd(), binary(ruby, &unread))),
            Some(Err(cause)) => {
                Err(Error::new(ruby.exception_io_error(), format!("The connection cannot be taken over: {cause}.")))
            }
            None => Err(finished(ruby)),
        }
    }
}

fn text(ruby: &Ruby, bytes: &[u8]) -> RString {
    match std::str::from_utf8(bytes) {
        Ok(text) => ruby.str_new(text),
        Err(_) => binary(ruby, bytes),
    }
}

fn binary(ruby: &Ruby, bytes: &[u8]) -> RString {
    ruby.str_from_slice(bytes)
}

fn finished(ruby: &Ruby) -> Error {
    Error::new(errors::class(ruby, "RequestFinished"), "The request is finished, or its response has begun.")
}

pub(crate) fn invalid_status(ruby: &Ruby, status: u16) -> Error {
    Error::new(errors::class(ruby, "InvalidStatus"), format!("{status} is not the status of a response; those are 200 to 599."))
}

/// The problem as an `Elah::BadRequest`, with its status and code.
fn bad_request(ruby: &Ruby, problem: &Problem) -> Result<Error, Error> {
    let class = errors::class(ruby, "BadRequest");
    let exception = class.new_instance((problem.detail.as_str(), problem.status, problem.code.as_ref()))?;
    Ok(exception.into())
}

fn unreadable(ruby: &Ruby, cause: &io::Error) -> Error {
    Error::new(ruby.exception_io_error(), format!("The spooled body cannot be read: {cause}."))
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<Request>(ruby, elah, "Request")?;
    CLASS.set(ruby, class);
    class.define_method("key", method!(Request::key, 0))?;
    class.define_method("id", method!(Request::request_id, 0))?;
    class.define_method("seconds_left", method!(Request::seconds_left, 0))?;
    class.define_method("request_method", method!(Request::request_method, 0))?;
    class.define_method("path", method!(Request::path, 0))?;
    class.define_method("query_string", method!(Request::query_string, 0))?;
    class.define_method("query?", method!(Request::has_query, 0))?;
    class.define_method("format_among", method!(Request::format_among, 1))?;
    class.define_method("protocol", method!(Request::protocol, 0))?;
    class.define_method("header", method!(Request::header, 1))?;
    class.define_method("headers", method!(Request::headers, 0))?;
    class.define_method("remote_ip", method!(Request::remote_ip, 0))?;
    class.define_method("local_port", method!(Request::local_port, 0))?;
    class.define_method("route", method!(Request::route, 0))?;
    class.define_method("route_params", method!(Request::route_params, 0))?;
    class.define_method("route_param", method!(Request::route_param, 1))?;
    class.define_method("reroute", method!(Request::reroute, 2))?;
    class.define_method("mount_at", method!(Request::mount_at, 0))?;
    class.define_method("body", method!(Request::body, 0))?;
    class.define_method("streamed?", method!(Request::is_streamed, 0))?;
    class.define_method("open_spooled", method!(Request::open_spooled, 0))?;
    class.define_method("read_chunk", method!(Request::read_chunk, 0))?;
    class.define_method("respond", method!(Request::respond, 3))?;
    class.define_method("redirect", method!(Request::redirect, 3))?;
    class.define_method("respond_with_file", method!(Request::respond_with_file, 3))?;
    class.define_method("respond_with_problem", method!(Request::respond_with_problem, 3))?;
    class.define_method("start", method!(Request::start, 2))?;
    class.define_method("awaits_response?", method!(Request::awaits_response, 0))?;
    class.define_method("hijack", method!(Request::hijack, 0))?;
    Ok(())
}
