//! `Elah::SinkIntake`: how requests become events and which answers they get, prepared once, so that neither needs a Ruby object; and
//! `Elah::Request#record`, which uses it, as responders do.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use elah_core::request::{BodyPlace, RequestView};
use elah_core::response::{Headers, Response};
use elah_core::sink_log::{self, Id, Kind, SinkLog};
use elah_core::worker::{RequestId, Worker};
use magnus::{Error, Module, Object, RArray, RModule, RString, Ruby, Value, function, method};
use rustc_hash::FxHashMap;

use crate::event_loop::worker;
use crate::header_set::headers;
use crate::name_counts::{Counts, NameCounts};
use crate::native_class;
use crate::params_text::{Member, read_object, write_pairs};
use crate::receiver::{ExactClass, Receiver};
use crate::request::{self, Request};
use crate::request_text::write_request;
use crate::sink_journal::{self, RubyJournal, raised, with_buffer};

const FORM: &[u8] = b"application/x-www-form-urlencoded";
const JSON: &[u8] = b"application/json";
const TEXT: &[u8] = b"text/plain";

pub(crate) static CLASS: ExactClass = ExactClass::new();

type Senders = HashMap<Box<[u8]>, Box<[u8]>>;

#[magnus::wrap(class = "Elah::SinkIntake", free_immediately, size)]
pub(crate) struct Intake {
    roles: FxHashMap<Box<str>, Role>,
    /// The member of the parameters that names the event's path.
    member: String,
    /// How often each path came.
    paths: Counts,
    /// For events in memory and on the disk, then the same for requests that have said which they prefer.
    answers: [Answer; 4],
    /// What the events of a sender begin with, by its address and its User-Agent.
    senders: Mutex<Senders>,
    senders_max: usize,
    /// How many requests responders may still take before a handler is asked, and up to which time.
    allowed: AtomicU64,
    allowed_until_ms: AtomicU64,
    /// How many they have taken since that was asked last.
    taken: AtomicU64,
}

/// What the header of a name is to an intake; others are kept.
#[derive(Clone, Copy)]
enum Role {
    Unkept,
    /// A request that has it is left to the application.
    Careful,
    /// `Prefer`: the durability, and nothing else.
    Wish,
}

struct Answer {
    headers: Headers,
    text: Bytes,
    /// The id of the event stands between both.
    after_id: Option<Bytes>,
}

/// What a request says.
struct Said {
    /// Whether it wants the disk, if it says so.
    wish: Option<bool>,
    /// What its parameters name.
    member: Member,
}

impl Intake {
    /// `answers` are four of headers, text, and what comes after the id, or nil.
    fn new(
        ruby: &Ruby,
        unkept: Vec<String>,
        careful: Vec<String>,
        member: String,
        paths: &NameCounts,
        senders_max: usize,
        answers: RArray,
    ) -> Result<Self, Error> {
        let mut roles = FxHashMap::default();
        roles.extend(unkept.into_iter().map(|name| (name.into_boxed_str(), Role::Unkept)));
        roles.extend(careful.into_iter().map(|name| (name.into_boxed_str(), Role::Careful)));
        roles.insert("prefer".into(), Role::Wish);
        let answer = |index: usize| -> Result<Answer, Error> {
            let (header, text, after_id) = answers.entry::<(Value, String, Option<String>)>(index as isize)?;
            Ok(Answer { headers: headers(ruby, header)?, text: text.into(), after_id: after_id.map(Bytes::from) })
        };
        let answers = [answer(0)?, answer(1)?, answer(2)?, answer(3)?];
        Ok(Intake {
            roles,
            member,
            paths: paths.counts().clone(),
            answers,
            senders: Mutex::default(),
            senders_max,
            allowed: AtomicU64::new(u64::MAX),
            allowed_until_ms: AtomicU64::new(u64::MAX),
            taken: AtomicU64::new(0),
        })
    }

    fn allow(&self, requests: u64, until_ms: u64) {
        self.allowed.store(requests, Ordering::Relaxed);
        self.allowed_until_ms.store(until_ms, Ordering::Relaxed);
    }

    /// How many requests responders have taken since the last call.
    fn take_taken(&self) -> u64 {
        self.taken.swap(0, Ordering::Relaxed)
    }

    /// Whether a responder may take a request.
    pub(crate) fn is_allowed(&self, now_ms: u64) -> bool {
        self.allowed.load(Ordering::Relaxed) > 0 && now_ms < self.allowed_until_ms.load(Ordering::Relaxed)
    }

    /// Notes that a responder has taken one.
    pub(crate) fn took(&self) {
        // All loads and stores are of the thread that has Ruby's lock.
        self.allowed.store(self.allowed.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        self.taken.store(self.taken.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Appends a request to a journal as an event, and answers it. One that wants the disk, or has no wish where `on_disk` says so, is
    /// answered when the next sync is done. False, and nothing has happened, when it says more than an intake can know.
    pub(crate) fn record(
        &self,
        worker: &Worker,
        id: RequestId,
        log: &Arc<SinkLog>,
        status: u16,
        on_disk: bool,
        has_body: bool,
    ) -> Result<bool, sink_log::Error> {
        with_buffer(|buffer| {
            let said = worker.request(id, |request| self.write(buffer, &request, has_body)).flatten();
            let Some(Said { wish, member }) = said else { return Ok(false) };
            let event_id = wish.map(|_| log.next_id());
            let is_on_disk = wish.unwrap_or(on_disk);
            let answer = &self.answers[usize::from(is_on_disk) + 2 * usize::from(wish.is_some())];
            let Some(response) = answer.response(status, event_id.as_ref()) else { return Ok(false) };
            match log.append(event_id, None, &[], Kind::Json, buffer) {
                Ok(_) => {}
                // As it was sent it is too long; written anew it may not be.
                Err(sink_log::Error::TooLarge { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
            match member {
                Some(path) => self.paths.lock().add(&path, 1),
                None => _ = worker.request(id, |request| self.paths.lock().add(request.path(), 1)),
            }
            if is_on_disk {
                worker.respond_when_synced(log, id, response);
            } else {
                worker.respond(id, response);
            }
            Ok(true)
        })
    }

    /// Whether the sender of a request is known. Requests of other servers, which `record` does not take, have none to know.
    fn is_known(ruby: &Ruby, rb_self: &Self, request: Value) -> Result<bool, Error> {
        let Some(request) = request::CLASS.native::<Request>(&request) else { return Ok(true) };
        let key = request.read(ruby, |request| sender_key(Vec::new(), &request))?;
        Ok(rb_self.senders().contains_key(&key[..]))
    }

    /// Remembers what the events of a request's sender begin with: a JSON object without its end.
    fn know(ruby: &Ruby, rb_self: &Self, request: &Request, head: RString) -> Result<(), Error> {
        let key = request.read(ruby, |request| sender_key(Vec::new(), &request))?;
        // SAFETY: the String is on this stack and is copied at once.
        let head = unsafe { head.as_slice() }.into();
        let mut senders = rb_self.senders();
        if senders.len() >= rb_self.senders_max {
            senders.clear();
        }
        senders.insert(key.into_boxed_slice(), head);
        Ok(())
    }

    fn forget(&self) {
        self.senders().clear();
    }

    fn senders(&self) -> MutexGuard<'_, Senders> {
        self.senders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the event of a request. `None` when the request is none of the plain ones, or its sender is not known.
    fn write(&self, out: &mut Vec<u8>, request: &RequestView<'_>, has_body: bool) -> Option<Said> {
        let wish = self.wish(request)?;
        *out = sender_key(std::mem::take(out), request);
        let senders = self.senders();
        let head = senders.get(&out[..])?;
        out.clear();
        out.extend_from_slice(head);
        drop(senders);
        write_request(out, request, |name| !self.roles.contains_key(name));
        out.extend_from_slice(b",\"params\":");
        let member = self.write_params(out, request, has_body)?;
        out.push(b'}');
        Some(Said { wish, member })
    }

    /// `None` when a header wants more than this can give.
    fn wish(&self, request: &RequestView<'_>) -> Option<Option<bool>> {
        let mut wish = None;
        for (name, value) in request.header_lines() {
            match self.roles.get(name) {
                None | Some(Role::Unkept) => {}
                Some(Role::Wish) if wish.is_none() && value == b"durability=memory" => wish = Some(false),
                Some(Role::Wish) if wish.is_none() && value == b"durability=disk" => wish = Some(true),
                Some(Role::Wish | Role::Careful) => return None,
            }
        }
        Some(wish)
    }

    fn write_params(&self, out: &mut Vec<u8>, request: &RequestView<'_>, has_body: bool) -> Option<Member> {
        let query = request.query().as_bytes();
        let body = match request.body() {
            BodyPlace::Memory(body) if has_body && !body.is_empty() => body,
            BodyPlace::Memory(_) | BodyPlace::Empty => return write_pairs(out, query, true, &self.member),
            BodyPlace::Spooled { .. } | BodyPlace::Streamed if has_body => return None,
            BodyPlace::Spooled { .. } | BodyPlace::Streamed => return write_pairs(out, query, true, &self.member),
        };
        if !query.is_empty() {
            return None;
        }
        let content_type = request.header("content-type")?;
        let media_type = content_type.split(|byte| b";, \t".contains(byte)).next()?;
        if media_type.eq_ignore_ascii_case(FORM) {
            return write_pairs(out, &body, false, &self.member);
        }
        let is_text = media_type.eq_ignore_ascii_case(TEXT) && body.starts_with(b"{");
        if !is_text && !media_type.eq_ignore_ascii_case(JSON) {
            return None;
        }
        let text = std::str::from_utf8(&body).ok()?;
        let member = read_object(text, &self.member)?;
        out.extend_from_slice(text.as_bytes());
        Some(member)
    }
}

impl Answer {
    fn response(&self, status: u16, id: Option<&Id>) -> Option<Response> {
        let body = match (&self.after_id, id) {
            (Some(after), Some(id)) => [&self.text[..], sink_log::id_text(id).as_bytes(), after].concat().into(),
            _ => self.text.clone(),
        };
        Response::new(status, self.headers.clone(), body)
    }
}

/// Who sends a request, as bytes in the place of those in `buffer`.
fn sender_key(mut buffer: Vec<u8>, request: &RequestView<'_>) -> Vec<u8> {
    buffer.clear();
    match request.peer() {
        Some(IpAddr::V4(address)) => buffer.extend_from_slice(&address.octets()),
        Some(IpAddr::V6(address)) => buffer.extend_from_slice(&address.octets()),
        None => {}
    }
    match request.header("user-agent") {
        Some(agent) => {
            buffer.push(b' ');
            buffer.extend_from_slice(&agent);
        }
        // No agent can have this byte.
        None => buffer.push(0),
    }
    buffer
}

/// `request.record(status, intake, journal, on_disk, has_body)`: as `Intake::record`.
fn record(
    ruby: &Ruby,
    request: Receiver<Request>,
    status: u16,
    intake: Value,
    journal: Value,
    on_disk: bool,
    has_body: bool,
) -> Result<bool, Error> {
    let (Some(intake), Some(journal)) = (CLASS.native::<Intake>(&intake), sink_journal::CLASS.native::<RubyJournal>(&journal))
    else {
        return Err(Error::new(ruby.exception_type_error(), "An Elah::SinkIntake and an Elah::SinkJournal are wanted."));
    };
    if !(200..600).contains(&status) {
        return Err(request::invalid_status(ruby, status));
    }
    let worker = worker(ruby)?;
    let recorded = intake.record(&worker, request.id(), journal.log(), status, on_disk, has_body);
    // That there is no request any more is no reason to go on.
    if matches!(recorded, Ok(false)) {
        request.read(ruby, |_| ())?;
    }
    recorded.map_err(|error| raised(ruby, &error))
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<Intake>(ruby, elah, "SinkIntake")?;
    CLASS.set(ruby, class);
    class.define_singleton_method("open", function!(Intake::new, 6))?;
    class.define_method("known?", method!(Intake::is_known, 1))?;
    class.define_method("know", method!(Intake::know, 2))?;
    class.define_method("forget", method!(Intake::forget, 0))?;
    class.define_method("allow", method!(Intake::allow, 2))?;
    class.define_method("taken", method!(Intake::take_taken, 0))?;
    let request = elah.const_get::<_, magnus::RClass>("Request")?;
    request.define_method("record", method!(record, 5))
}
