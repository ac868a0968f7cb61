//! `Elah::Clients::RedisResponder`: the responder of a route whose plain requests one script answers with ranked members. Between a request
//! and its answer there is no fiber and no Ruby object: the answer is written where the reply is read.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use elah_clients::redis::{Client, Commands, Error as RedisError, Item, Replies};
use elah_core::ranked_set::Order;
use elah_core::request::RequestView;
use elah_core::response::{Headers, Response};
use elah_core::worker::RequestId;
use magnus::{Error, Module, RArray, RModule, Ruby, method};

use super::{Asked, arguments};
use crate::event_loop;
use crate::future_wait::{Home, PerHome};
use crate::native_class;
use crate::ranked_set;
use crate::receiver::ExactClass;
use crate::responders::Candidate;

/// Most answers are no longer.
const USUAL_ANSWER_BYTES: usize = 128;

pub(crate) static CLASS: ExactClass = ExactClass::new();

#[magnus::wrap(class = "Elah::Clients::RedisResponder", free_immediately)]
pub(crate) struct Responder {
    clients: Arc<PerHome<Client<Asked>>>,
    answers: Arc<Answers>,
    /// The parameter of the route that names what is asked about, and the one whose value is the script's last argument.
    key: String,
    last: Option<String>,
    last_bytes_max: usize,
    known: Mutex<HashMap<Box<str>, Arc<Known>>>,
}

/// What all answers of a responder have in common.
struct Answers {
    headers: Headers,
    /// Around and between the numbers of a reply and its members.
    texts: Vec<String>,
    /// Whether the server has run the script, and has not said since that it has none of its digest.
    is_script_known: AtomicBool,
}

/// What is asked about under one key.
struct Known {
    answers: Arc<Answers>,
    order: Order,
    /// The script's call but for the last argument: by its digest, and with its source.
    by_digest: Commands,
    by_source: Commands,
}

/// A request whose answer is the reply.
pub(super) struct Awaiting {
    request: RequestId,
    known: Arc<Known>,
}

impl Responder {
    pub(super) fn new(
        clients: Arc<PerHome<Client<Asked>>>,
        headers: Headers,
        texts: Vec<String>,
        key: String,
        last: Option<String>,
        last_bytes_max: usize,
    ) -> Self {
        let answers = Arc::new(Answers { headers, texts, is_script_known: AtomicBool::new(false) });
        Responder { clients, answers, key, last, last_bytes_max, known: Mutex::default() }
    }

    /// Knows what to ask for a key; `by_digest` and `by_source` are words of a command.
    fn add(
        ruby: &Ruby,
        responder: &Self,
        key: String,
        by_digest: RArray,
        by_source: RArray,
        components: RArray,
        is_tied_by_member: bool,
    ) -> Result<(), Error> {
        let arguments_behind = usize::from(responder.last.is_some());
        let known = Known {
            answers: Arc::clone(&responder.answers),
            order: ranked_set::order(ruby, components, is_tied_by_member)?,
            by_digest: arguments::beginning(ruby, by_digest, arguments_behind)?,
            by_source: arguments::beginning(ruby, by_source, arguments_behind)?,
        };
        responder.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key.into(), Arc::new(known));
        Ok(())
    }

    /// Forgets a key.
    fn remove(&self, key: String) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(key.as_str());
    }

    /// Forgets all keys.
    fn clear(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Asks the script, unless the request is not plain, or the server is not there: the handler can say why.
    pub(crate) fn answer(&self, candidate: &Candidate<'_>) -> Result<bool, Error> {
        let Some((known, commands)) = candidate.read(|request| self.question(request)) else { return Ok(false) };
        let Some(client) = self.clients.find(Home::current(candidate.ruby)?) else { return Ok(false) };
        if !client.takes_commands() || !candidate.worker.keep_back(candidate.id) {
            return Ok(false);
        }
        // A client that takes commands has its driver.
        let _driver = client.submit(&commands, Asked::Request(Awaiting { request: candidate.id, known }));
        Ok(true)
    }

    fn question(&self, request: &RequestView<'_>) -> Option<(Arc<Known>, Commands)> {
        if !request.query().is_empty() {
            return None;
        }
        let (mut key, mut last) = (None, None);
        for (name, value) in request.route_params() {
            if *name == self.key {
                key = Some(value);
            } else if self.last.as_deref() == Some(name) {
                last = Some(value);
            }
        }
        let known = Arc::clone(self.known.lock().unwrap_or_else(PoisonError::into_inner).get(key?)?);
        let is_script_known = self.answers.is_script_known.load(Ordering::Relaxed);
        let mut commands = if is_script_known { known.by_digest.clone() } else { known.by_source.clone() };
        if self.last.is_some() {
            commands.word(last.filter(|last| !last.is_empty() && last.len() <= self.last_bytes_max)?.as_bytes());
        }
        Some((known, commands))
    }
}

impl Awaiting {
    /// Answers, or leaves the request to its handler: with the error, when there is no reply.
    pub(super) fn end(self, outcome: Result<Replies, RedisError>) {
        let answer = match outcome {
            Ok(mut replies) => self.known.response(&mut replies).ok_or(None),
            Err(error) => Err(Some(Box::new(error) as Box<dyn Any>)),
        };
        event_loop::settle(self.request, answer);
    }
}

impl Known {
    fn response(&self, replies: &mut Replies) -> Option<Response> {
        let text = self.text(replies)?;
        Response::new(200, self.answers.headers.clone(), text)
    }

    /// The text of a reply of numbers, the rank of the first member, and members: several in a list, or one alone.
    fn text(&self, replies: &mut Replies) -> Option<Bytes> {
        let [before, between @ .., after] = self.answers.texts.as_slice() else { return None };
        let reply = replies.next_item();
        let is_forgotten = matches!(&reply, Item::Refusal(line) if line.starts_with(b"NOSCRIPT"));
        if is_forgotten || !matches!(reply, Item::Refusal(_)) {
            self.answers.is_script_known.store(!is_forgotten, Ordering::Relaxed);
        }
        if reply != Item::Array(between.len() + 2) {
            return None;
        }
        let mut out = Vec::with_capacity(USUAL_ANSWER_BYTES);
        out.extend_from_slice(before.as_bytes());
        for text in between {
            write_number(&mut out, &replies.next_item())?;
            out.extend_from_slice(text.as_bytes());
        }
        let Item::Integer(first) = replies.next_item() else { return None };
        let first = usize::try_from(first).ok()?;
        match replies.next_item() {
            Item::Text(place) => self.write_row(&mut out, place, first)?,
            Item::Array(members) => {
                for index in 0..members {
                    if index > 0 {
                        out.push(b',');
                    }
                    let Item::Text(place) = replies.next_item() else { return None };
                    self.write_row(&mut out, place, first + index)?;
                }
            }
            _ => return None,
        }
        out.extend_from_slice(after.as_bytes());
        Some(out.into())
    }

    fn write_row(&self, out: &mut Vec<u8>, place: &[u8], rank: usize) -> Option<()> {
        out.push(b'{');
        self.order.row_at(place, rank)?.write_json(out, &self.order).ok()?;
        out.push(b'}');
        Some(())
    }
}

/// Appends a whole number, or the digits of one.
fn write_number(out: &mut Vec<u8>, item: &Item<'_>) -> Option<()> {
    match item {
        Item::Integer(number) => out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes()),
        Item::Text(digits) if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => out.extend_from_slice(digits),
        _ => return None,
    }
    Some(())
}

pub(super) fn init(ruby: &Ruby, clients: RModule) -> Result<(), Error> {
    let class = native_class::define::<Responder>(ruby, clients, "RedisResponder")?;
    CLASS.set(ruby, class);
    class.define_method("add_native", method!(Responder::add, 5))?;
    class.define_method("remove", method!(Responder::remove, 1))?;
    class.define_method("clear", method!(Responder::clear, 0))?;
    Ok(())
}
