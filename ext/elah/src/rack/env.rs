//! `Elah::Rack::EnvBuilder`: the Rack environment of a request, made by copying a template Hash and adding the request's values.

use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};

use arrayvec::ArrayString;
use elah_http::request::{BodyPlace, RequestView};
use magnus::rb_sys::AsRawValue;
use magnus::typed_data::Obj;
use magnus::value::ReprValue;
use magnus::{DataTypeFunctions, Error, Module, Object, RClass, RHash, RModule, Ruby, TypedData, Value, function, gc, method};
use rb_sys::VALUE;

use crate::rack::header_keys::{HeaderKeys, Place};
use crate::rack::state::{RackState, alive};
use crate::ruby::native_class;
use crate::ruby::raising::{self, Protected, protect};
use crate::ruby::raw_objects::{append, array, digits, frozen, string};
use crate::ruby::receiver::Receiver;
use crate::server::request::{self, Request};

const NIL: VALUE = rb_sys::Qnil as VALUE;

/// Length of the longest address: IPv6 with an embedded IPv4 address.
const ADDRESS_BYTES_MAX: usize = 45;

/// The methods, in addition to the template's, that share a frozen String.
const METHODS: [&str; 7] = ["HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];

/// The keys that are set for each request, as the Strings in the template.
#[derive(Debug)]
struct Keys {
    request_method: VALUE,
    request_path: VALUE,
    request_uri: VALUE,
    path_info: VALUE,
    query_string: VALUE,
    server_protocol: VALUE,
    http_version: VALUE,
    server_name: VALUE,
    server_port: VALUE,
    remote_addr: VALUE,
    content_length: VALUE,
    input: VALUE,
    hijack: VALUE,
    finishers: VALUE,
}

#[derive(TypedData)]
#[magnus(class = "Elah::Rack::EnvBuilder", mark, free_immediately)]
pub(crate) struct EnvBuilder {
    template: VALUE,
    /// Opens `rack.input` for a request with a body.
    inputs: VALUE,
    keys: Keys,
    methods: [VALUE; METHODS.len()],
    header_keys: HeaderKeys,
    /// The name of the server for a request without a Host header.
    default_name: VALUE,
    /// The Host header and the peer in the template.
    host: RefCell<Option<Vec<u8>>>,
    peer: Cell<Option<IpAddr>>,
}

// SAFETY: Ruby moves the object between threads only with the GVL, under which every method runs.
unsafe impl Sync for EnvBuilder {}

impl DataTypeFunctions for EnvBuilder {
    fn mark(&self, marker: &gc::Marker) {
        for value in [self.template, self.inputs, self.default_name] {
            marker.mark(alive(value));
        }
        self.header_keys.mark(marker);
    }
}

impl EnvBuilder {
    /// `new(template, inputs)`: `template` has the values that are the same for all requests or seldom change; the builder owns
    /// it from then on. `inputs.open(request)` returns `rack.input` for a request with a body.
    fn new(ruby: &Ruby, template: RHash, inputs: Value) -> Result<Self, Error> {
        let kept = |text: &str| {
            let string = ruby.str_new(text).to_interned_str();
            // A process has one builder, so these are few. They must not move, because they are referred to by address.
            ruby.gc_register_mark_object(string);
            string.as_raw()
        };
        let keys = Keys {
            request_method: kept("REQUEST_METHOD"),
            request_path: kept("REQUEST_PATH"),
            request_uri: kept("REQUEST_URI"),
            path_info: kept("PATH_INFO"),
            query_string: kept("QUERY_STRING"),
            server_protocol: kept("SERVER_PROTOCOL"),
            http_version: kept("HTTP_VERSION"),
            server_name: kept("SERVER_NAME"),
            server_port: kept("SERVER_PORT"),
            remote_addr: kept("REMOTE_ADDR"),
            content_length: kept("CONTENT_LENGTH"),
            input: kept("rack.input"),
            hijack: kept("rack.hijack"),
            finishers: kept("rack.response_finished"),
        };
        let mut methods = [NIL; METHODS.len()];
        for (method, name) in methods.iter_mut().zip(METHODS) {
            *method = kept(name);
        }
        Ok(EnvBuilder {
            template: template.as_raw(),
            inputs: inputs.as_raw(),
            keys,
            methods,
            header_keys: HeaderKeys::new(),
            default_name: template.fetch::<_, Value>("SERVER_NAME")?.as_raw(),
            host: RefCell::new(None),
            peer: Cell::new(None),
        })
    }

    /// The environment of a request, which keeps it.
    fn build(ruby: &Ruby, rb_self: Receiver<Self>, value: Value) -> Result<Value, Error> {
        let Some(request) = request::CLASS.native::<Request>(&value) else {
            let message = format!("An environment is built of an Elah::Request, not of {}.", value.class());
            return Err(Error::new(ruby.exception_type_error(), message));
        };
        let state = request.rack();
        let (filled, has_body) = request.read(ruby, |view| {
            // SAFETY: nothing between `fill` and `protect` has to be dropped.
            let filled = protect(|protected| unsafe { rb_self.fill(protected, &view, value.as_raw(), state) });
            (filled, !matches!(view.body(), BodyPlace::Empty))
        })?;
        let env = alive(filled?);
        // SAFETY: the state is that of the request, which is an argument, and `env` is on this stack.
        unsafe { state.keep_env(value.as_raw(), env.as_raw()) };
        if has_body {
            let input: Value = alive(rb_self.inputs).funcall("open", (value,))?;
            let hash =
                RHash::from_value(env).ok_or_else(|| Error::new(ruby.exception_type_error(), "The template must be a Hash."))?;
            hash.aset(alive(rb_self.keys.input), input)?;
        }
        Ok(env)
    }

    /// # Safety
    ///
    /// `request` is a live Request, and `state` its own.
    unsafe fn fill(&self, protected: Protected<'_>, view: &RequestView<'_>, request: VALUE, state: &RackState) -> VALUE {
        let keys = &self.keys;
        // SAFETY: all values are on this stack, in the Hash or marked by this object or the request.
        unsafe {
            // Values that seldom change between requests are changed in the template.
            self.note_peer(protected, view.peer().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)));
            let host = view.host();
            if let Some(host) = host {
                self.note_server(protected, host);
            }
            let env = raising::rb_hash_dup(protected, self.template);
            let set = |key, value| {
                raising::rb_hash_aset(protected, env, key, value);
            };
            if view.method() != "GET" {
                set(keys.request_method, self.method(protected, view.method()));
            }
            let path = string(protected, view.path().as_bytes());
            set(keys.path_info, path);
            set(keys.request_path, path);
            set(keys.request_uri, target(protected, view));
            if !view.query().is_empty() {
                set(keys.query_string, string(protected, view.query().as_bytes()));
            }
            if view.protocol() != "HTTP/1.1" {
                let protocol = string(protected, view.protocol().as_bytes());
                set(keys.server_protocol, protocol);
                set(keys.http_version, protocol);
            }
            let mut is_chunked = false;
            let mut lines = view.header_lines().peekable();
            while let Some((name, value)) = lines.next() {
                let Place::Key(key) = self.header_keys.place(protected, name) else { continue };
                if name == "transfer-encoding" && !matches!(view.body(), BodyPlace::Streamed) {
                    is_chunked = true;
                    continue;
                }
                let joined = string(protected, value);
                while let Some((_, value)) = lines.next_if(|(next, _)| *next == name) {
                    let separator: &[u8] = if name == "cookie" { b"; " } else { b", " };
                    append(protected, joined, separator);
                    append(protected, joined, value);
                }
                set(key, joined);
            }
            if host.is_none() {
                set(keys.server_name, self.default_name);
                set(keys.server_port, digits(protected, u64::from(view.local_port())));
            }
            if is_chunked {
                set(keys.content_length, digits(protected, body_bytes(view)));
            }
            set(keys.hijack, request);
            let finishers = array(protected);
            state.keep_finishers(request, finishers);
            set(keys.finishers, finishers);
            env
        }
    }

    fn method(&self, protected: Protected<'_>, name: &str) -> VALUE {
        match METHODS.iter().position(|known| *known == name) {
            Some(index) => self.methods[index],
            None => string(protected, name.as_bytes()),
        }
    }

    /// Writes a new peer into the template.
    fn note_peer(&self, protected: Protected<'_>, address: IpAddr) {
        if self.peer.get() == Some(address) {
            return;
        }
        let mut text = ArrayString::<ADDRESS_BYTES_MAX>::new();
        // It fits.
        let _ = write!(text, "{address}");
        self.peer.set(None);
        // SAFETY: the template is a Hash of this object, and the key a String that stays.
        unsafe { raising::rb_hash_aset(protected, self.template, self.keys.remote_addr, frozen(protected, text.as_bytes())) };
        self.peer.set(Some(address));
    }

    /// Writes name and port of a new Host header, which the guard has checked, into the template.
    fn note_server(&self, protected: Protected<'_>, host: &[u8]) {
        if self.host.borrow().as_deref() == Some(host) {
            return;
        }
        let (name, port) = split_port(host);
        self.host.replace(None);
        // SAFETY: the template is a Hash of this object, and the key a String that stays.
        unsafe {
            raising::rb_hash_aset(protected, self.template, self.keys.server_name, frozen(protected, name));
            raising::rb_hash_aset(protected, self.template, self.keys.server_port, frozen(protected, port));
        }
        self.host.replace(Some(host.to_vec()));
    }
}

/// The target as the client sent it: a path with its query, a whole URL, or "*".
///
/// # Safety
///
/// As for `EnvBuilder::fill`.
unsafe fn target(protected: Protected<'_>, view: &RequestView<'_>) -> VALUE {
    // SAFETY: as for `EnvBuilder::fill`.
    unsafe {
        let Some((scheme, authority)) = view.origin() else { return string(protected, view.path_and_query().as_bytes()) };
        let target = string(protected, scheme.as_bytes());
        append(protected, target, b"://");
        append(protected, target, authority.as_bytes());
        append(protected, target, view.path_and_query().as_bytes());
        target
    }
}

/// Splits a checked host at its port; without one, the port is that of plain HTTP.
fn split_port(host: &[u8]) -> (&[u8], &[u8]) {
    let port_bytes = host.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    match host.split_at(host.len() - port_bytes) {
        ([name @ .., b':'], port) if name.last() == Some(&b']') || !name.contains(&b':') => {
            (name, if port.is_empty() { b"80" } else { port })
        }
        _ => (host, b"80"),
    }
}

/// The length of a complete body.
fn body_bytes(view: &RequestView<'_>) -> u64 {
    match view.body() {
        BodyPlace::Memory(bytes) => bytes.len() as u64,
        BodyPlace::Spooled { bytes } => bytes,
        BodyPlace::Empty | BodyPlace::Streamed => 0,
    }
}

/// `Request#env`: the Rack environment, built at its first use.
fn env(ruby: &Ruby, request: Obj<Request>) -> Result<Value, Error> {
    let built = request.rack().env();
    if !built.is_nil() {
        return Ok(built);
    }
    let elah: RModule = ruby.class_object().const_get("Elah")?;
    let rack: RModule = elah.const_get("Rack")?;
    let environment: Value = rack.const_get("Environment")?;
    environment.funcall("build", (request,))
}

/// `Request#rack_finishers`: the value of `rack.response_finished`, or nil.
fn finishers(request: Receiver<Request>) -> Value {
    request.rack().finishers()
}

pub(crate) fn init(ruby: &Ruby, elah: RModule, rack: RModule) -> Result<(), Error> {
    let request: RClass = elah.const_get("Request")?;
    request.define_method("env", method!(env, 0))?;
    request.define_method("rack_finishers", method!(finishers, 0))?;
    let class = native_class::define::<EnvBuilder>(ruby, rack, "EnvBuilder")?;
    class.define_singleton_method("new", function!(EnvBuilder::new, 2))?;
    class.define_method("build", method!(EnvBuilder::build, 1))?;
    Ok(())
}
