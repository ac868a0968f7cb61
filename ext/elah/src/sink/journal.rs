//! `Elah::SinkJournal`: the journal of a sink in one process. Events become bytes without an intermediate String.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use elah_journal::{
    self, Batch, Damage, Error as JournalError, Id, Kind, Options, Position, Progress, Queued, Record, Salvaged, Scanned,
    SinkLog, Tallied,
};
use elah_store::Clock;
use magnus::value::ReprValue;
use magnus::{Error, Module, Object, RArray, RHash, RModule, RString, Ruby, Value, function, method};

use crate::codecs::json_items::read_items;
use crate::codecs::json_writer::append_json;
use crate::concurrency::current_worker::worker;
use crate::concurrency::wait::{in_thread, is_in_fiber, park, suspend};
use crate::ruby::native_class;
use crate::ruby::receiver::Receiver;
use crate::server::request;
use crate::sink::errors::raised;
use crate::sink::name_counts::NameCounts;
use crate::sink::request_text::{header_name, write_name, write_request};
use crate::store::RubyClock;

/// A larger buffer is freed after its call.
const KEPT_BYTES_MAX: usize = 256 * 1024;

thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

#[magnus::wrap(class = "Elah::SinkJournal", size)]
struct RubyJournal {
    log: Arc<SinkLog>,
}

impl RubyJournal {
    /// `bounds` are segment_bytes, segments_max, event_bytes_max and the milliseconds within which an event is synced if nobody
    /// waits for it. `progress` is the released and the counted position. Returns nil if somebody else owns the journal.
    fn open(
        ruby: &Ruby,
        dir: String,
        bounds: (u32, usize, usize, u64),
        progress: (u64, u64),
        clock: Option<&RubyClock>,
    ) -> Result<Option<Self>, Error> {
        let clock = clock.map_or(Clock::System, |clock| Clock::Manual(clock.time()));
        let (segment_bytes, segments_max, event_bytes_max, sync_ms) = bounds;
        let sync_pause = Duration::from_millis(sync_ms);
        let options = Options { segment_bytes, segments_max, event_bytes_max, sync_pause, clock, boot: elah_journal::boot_id() };
        let path = PathBuf::from(dir);
        let folder = path.clone();
        // Checking the files of a dead process takes a while.
        let opened = in_thread(ruby, move || SinkLog::open(&folder, to_progress(progress), options))?
            .unwrap_or_else(|error| Err(JournalError::CannotOpen { path, why: error.to_string() }));
        Ok(opened.map_err(|error| raised(ruby, &error))?.map(|log| RubyJournal { log: Arc::new(log) }))
    }

    /// How many bytes of a segment to copy while its owner appends.
    fn whole_bytes(ruby: &Ruby, path: String) -> Result<u64, Error> {
        elah_journal::whole_bytes(Path::new(&path)).map_err(|error| raised(ruby, &error))
    }

    /// Appends a Hash as JSON, or a String as bytes. Assigns time and ID if they are nil.
    fn append(
        ruby: &Ruby,
        journal: Receiver<Self>,
        event: Value,
        stream: Option<RString>,
        id: Option<RString>,
        accepted_ms: Option<u64>,
    ) -> Result<u64, Error> {
        let id = id.map(|id| to_id(ruby, id)).transpose()?;
        let mut buffer = BUFFER.take();
        let encoded = encode(ruby, &mut buffer, event);
        let appended = encoded.and_then(|kind| {
            // SAFETY: the name is on this stack, and no Ruby code runs before the append has copied it.
            let stream = stream.as_ref().map_or(&[][..], |stream| unsafe { stream.as_slice() });
            journal.log.append(id, accepted_ms, stream, kind, &buffer).map_err(|error| raised(ruby, &error))
        });
        give_back(buffer);
        appended.map(|position| position.0)
    }

    /// Appends a request as JSON: the members of `with`, then path, headers and `params`. Keeps the headers in `names`, or,
    /// unless `keeps_named`, the others.
    fn append_request(
        ruby: &Ruby,
        journal: Receiver<Self>,
        request: Value,
        (with, params, names, keeps_named): (Value, Value, RArray, bool),
        stream: Option<RString>,
        id: RString,
    ) -> Result<u64, Error> {
        let Some(request) = request::CLASS.native::<request::Request>(&request) else {
            return Err(Error::new(ruby.exception_type_error(), "It is no request of this server."));
        };
        let id = to_id(ruby, id)?;
        let mut buffer = BUFFER.take();
        let written = begin_object(ruby, &mut buffer, with).and_then(|()| {
            let names = names.into_iter().map(|name| header_name(ruby, name)).collect::<Result<Vec<_>, _>>()?;
            // SAFETY: the Array on this stack holds the Strings, and no Ruby code runs until the request is written.
            let names: Vec<&[u8]> = names.iter().map(|name| unsafe { name.as_slice() }).collect();
            request.read(ruby, |request| {
                write_request(&mut buffer, &request, |name| names.contains(&name.as_bytes()) == keeps_named);
            })?;
            buffer.extend_from_slice(b",\"params\":");
            add_json(ruby, &mut buffer, params)?;
            buffer.push(b'}');
            Ok(())
        });
        let appended = written.and_then(|()| {
            // SAFETY: the name is on this stack, and no Ruby code runs before the append has copied it.
            let stream = stream.as_ref().map_or(&[][..], |stream| unsafe { stream.as_slice() });
            journal.log.append(Some(id), None, stream, Kind::Json, &buffer).map_err(|error| raised(ruby, &error))
        });
        give_back(buffer);
        appended.map(|position| position.0)
    }

    /// Appends stored bytes again: a dead letter with its kind, its ID and its time.
    fn append_record(
        ruby: &Ruby,
        journal: &Self,
        is_json: bool,
        payload: RString,
        stream: RString,
        id: RString,
        accepted_ms: u64,
    ) -> Result<u64, Error> {
        let id = to_id(ruby, id)?;
        let kind = if is_json { Kind::Json } else { Kind::Bytes };
        // SAFETY: both are on this stack, and no Ruby code runs before the append has copied them.
        let (stream, payload) = unsafe { (stream.as_slice(), payload.as_slice()) };
        let appended = journal.log.append(Some(id), Some(accepted_ms), stream, kind, payload);
        appended.map(|position| position.0).map_err(|error| raised(ruby, &error))
    }

    /// Appends all events or none; `ids` has 16 bytes for each.
    fn append_all(ruby: &Ruby, journal: &Self, events: RArray, stream: Option<RString>, ids: RString) -> Result<u64, Error> {
        let mut buffer = BUFFER.take();
        let encoded = encode_all(ruby, &mut buffer, events, ids);
        let appended = encoded.and_then(|parts| {
            // SAFETY: the name is on this stack and is copied at once.
            let stream = stream.map(|stream| unsafe { stream.as_slice() }.to_vec()).unwrap_or_default();
            let mut start = 0;
            let events = parts.iter().map(|(id, kind, end)| {
                let payload = &buffer[start..*end];
                start = *end;
                (&stream[..], *id, *kind, payload)
            });
            journal.log.append_all(events.collect::<Vec<_>>().iter().copied()).map_err(|error| raised(ruby, &error))
        });
        give_back(buffer);
        appended.map(|position| position.0)
    }

    /// Appends the objects of a body, all or none, each as an object with the members of `with` and, as `member`, its text as
    /// sent. Returns nil if the body has anything else, an object has an `id`, or there are more than `max`. Otherwise returns
    /// the position, their number, their IDs as 16 bytes each, and the named counts or nil.
    fn append_items(
        ruby: &Ruby,
        journal: &Self,
        body: RString,
        (is_list, max): (bool, usize),
        (with, member): (Value, String),
        stream: Option<RString>,
        counts: Option<(&NameCounts, String)>,
    ) -> Result<Option<RArray>, Error> {
        let mut head = Vec::new();
        begin_object(ruby, &mut head, with)?;
        write_name(&mut head, &member);
        // SAFETY: both are on this stack, and Ruby does not run before the append has copied them.
        let body = unsafe { body.as_slice() };
        let stream = stream.as_ref().map_or(&[][..], |stream| unsafe { stream.as_slice() });
        let Some(items) = std::str::from_utf8(body).ok().and_then(|body| read_items(body, is_list, max)) else { return Ok(None) };
        let texts = items.iter().map(|item| item.text.as_bytes());
        let (position, ids) = journal.log.append_framed(stream, &head, b"}", texts).map_err(|error| raised(ruby, &error))?;
        let count = items.len();
        // Clients choose these names: with a hash that they know they could choose such as all meet in one place.
        let mut paths = HashMap::<Option<String>, usize>::new();
        match &counts {
            Some((counts, path)) => {
                let mut counts = counts.counts().lock();
                items.iter().for_each(|item| counts.add(item.path.as_deref().unwrap_or(path), 1));
            }
            None => items.into_iter().for_each(|item| *paths.entry(item.path.map(Into::into)).or_default() += 1),
        }
        // From here on Ruby runs, and the body may move.
        let result = ruby.ary_new_capa(4);
        result.push(position.0)?;
        result.push(count)?;
        result.push(ruby.str_from_slice(&ids))?;
        if counts.is_some() {
            return Ok(Some(result));
        }
        let named = ruby.hash_new();
        for (path, count) in paths {
            named.aset(path, count)?;
        }
        result.push(named)?;
        Ok(Some(result))
    }

    fn next_id(ruby: &Ruby, journal: &Self) -> RString {
        ruby.str_from_slice(&journal.log.next_id())
    }

    fn next_ids(ruby: &Ruby, journal: &Self, count: usize) -> RString {
        ruby.str_from_slice(&journal.log.next_ids(count).concat())
    }

    fn now_ms(&self) -> u64 {
        self.log.now_ms()
    }

    /// Fibers of a loop share the sync that the loop requests after its iteration.
    fn wait_synced(ruby: &Ruby, journal: &Self, position: u64) -> Result<(), Error> {
        let (log, position) = (&journal.log, Position(position));
        if !is_in_fiber()? {
            let synced = suspend(ruby, |completer| log.when_synced(position, |done| completer.complete(done)))?;
            return synced.map_err(|error| raised(ruby, &error));
        }
        let worker = worker(ruby)?;
        while !log.is_synced(position).map_err(|error| raised(ruby, &error))? {
            park(ruby, worker.wait_for_sync(log))?;
        }
        Ok(())
    }

    fn wait_appended(ruby: &Ruby, journal: &Self, position: u64) -> Result<(), Error> {
        let appended = suspend(ruby, |completer| journal.log.when_appended(Position(position), |done| completer.complete(done)))?;
        appended.map_err(|error| raised(ruby, &error))
    }

    fn wait_released(ruby: &Ruby, journal: &Self, position: u64, ticket: u64) -> Result<(), Error> {
        let released = suspend(ruby, |completer| {
            journal.log.when_released(Position(position), ticket, |done| completer.complete(done));
        })?;
        released.map_err(|error| raised(ruby, &error))
    }

    fn forget(&self, position: u64, ticket: u64) {
        self.log.forget(Position(position), ticket);
    }

    /// `[next position, [[id, stream, milliseconds, is_json, payload], ...]]`
    fn read(ruby: &Ruby, journal: &Self, position: u64, events_max: usize, bytes_max: usize) -> Result<RArray, Error> {
        let batch = journal.log.read(Position(position), events_max, bytes_max).map_err(|error| raised(ruby, &error))?;
        let Batch { records, next } = batch;
        let events = ruby.ary_new_capa(records.len());
        let mut stream = (Vec::new(), stream_name(ruby, b"")?);
        for (_, record) in &records {
            // Consecutive events usually have the same stream.
            if stream.0 != record.stream[..] {
                stream = (record.stream.to_vec(), stream_name(ruby, &record.stream)?);
            }
            events.push(event(ruby, record, stream.1)?)?;
        }
        let result = ruby.ary_new_capa(2);
        result.push(next.0)?;
        result.push(events)?;
        Ok(result)
    }

    /// `[position, [[stream, minute, events], ...]]`: counts of accepted events from the place of the last call up to `position`.
    fn take_tally(ruby: &Ruby, journal: &Self) -> Result<RArray, Error> {
        let (position, tallied) = journal.log.take_tally();
        let rows = ruby.ary_new_capa(tallied.len());
        for Tallied { stream, minute, events } in tallied {
            rows.push((ruby.str_from_slice(&stream), minute, events))?;
        }
        let result = ruby.ary_new_capa(2);
        result.push(position.0)?;
        result.push(rows)?;
        Ok(result)
    }

    fn release(&self, position: u64) {
        self.log.release(Position(position));
    }

    fn end(&self) -> u64 {
        self.log.end().0
    }

    fn released(&self) -> u64 {
        self.log.released().0
    }

    fn bytes(&self) -> u64 {
        self.log.bytes()
    }

    /// Raises the error that an event would get.
    fn check(ruby: &Ruby, journal: &Self) -> Result<(), Error> {
        journal.log.check().map_err(|error| raised(ruby, &error))
    }

    /// `[[path, offset, is_torn], ...]`: the damage found at the opening.
    fn damages(ruby: &Ruby, journal: &Self) -> Result<RArray, Error> {
        let rows = ruby.ary_new();
        for Damage { path, offset, is_torn } in journal.log.damages() {
            rows.push((path.to_string_lossy().into_owned(), offset, is_torn))?;
        }
        Ok(rows)
    }

    fn close(&self) {
        self.log.close();
    }

    fn is_closed(&self) -> bool {
        self.log.is_closed()
    }

    /// `[[[stream, minute, queued, uncounted], ...], damaged]` of the journal in a folder, with any owner: its events, and the
    /// number of damaged segments. nil if it changed meanwhile.
    fn scan(ruby: &Ruby, dir: String, progress: (u64, u64), is_strict: bool) -> Result<Option<RArray>, Error> {
        let scanned = read_in_thread(ruby, move || elah_journal::scan(Path::new(&dir), to_progress(progress), is_strict))?;
        let Some(Scanned { events, damaged }) = scanned else { return Ok(None) };
        let rows = ruby.ary_new_capa(events.len());
        for Queued { queued: Tallied { stream, minute, events }, uncounted } in events {
            rows.push((ruby.str_from_slice(&stream), minute, events, uncounted))?;
        }
        let result = ruby.ary_new_capa(2);
        result.push(rows)?;
        result.push(damaged)?;
        Ok(Some(result))
    }

    /// `[[[id, stream, milliseconds, is_json, payload], ...], [[from, to], ...]]`: the events of a segment that was set aside,
    /// and the lost bytes.
    fn salvage(ruby: &Ruby, path: String) -> Result<RArray, Error> {
        let Salvaged { records, lost } = read_in_thread(ruby, move || elah_journal::salvage(Path::new(&path)))?;
        let events = ruby.ary_new_capa(records.len());
        for record in &records {
            events.push(event(ruby, record, stream_name(ruby, &record.stream)?)?)?;
        }
        let ranges = ruby.ary_new_capa(lost.len());
        for range in lost {
            ranges.push((range.start, range.end))?;
        }
        let result = ruby.ary_new_capa(2);
        result.push(events)?;
        result.push(ranges)?;
        Ok(result)
    }
}

fn read_in_thread<T: Send + 'static>(
    ruby: &Ruby,
    read: impl FnOnce() -> Result<T, JournalError> + Send + 'static,
) -> Result<T, Error> {
    let read = in_thread(ruby, read)?.unwrap_or_else(|error| Err(JournalError::Unreadable { why: error.to_string() }));
    read.map_err(|error| raised(ruby, &error))
}

fn to_progress((released, counted): (u64, u64)) -> Progress {
    Progress { released: Position(released), counted: Position(counted) }
}

/// A frozen String.
fn stream_name(ruby: &Ruby, name: &[u8]) -> Result<RString, Error> {
    let name = ruby.enc_str_new(name, ruby.utf8_encindex());
    name.freeze();
    Ok(name)
}

fn event(ruby: &Ruby, record: &Record<'_>, stream: RString) -> Result<RArray, Error> {
    let event = ruby.ary_new_capa(5);
    event.push(ruby.str_from_slice(&record.id))?;
    event.push(stream)?;
    event.push(record.accepted_ms)?;
    event.push(record.kind == Kind::Json)?;
    event.push(match record.kind {
        Kind::Json => ruby.enc_str_new(&*record.payload, ruby.utf8_encindex()),
        Kind::Bytes => ruby.str_from_slice(&record.payload),
    })?;
    Ok(event)
}

/// Appends the bytes of an event to `buffer`.
fn encode(ruby: &Ruby, buffer: &mut Vec<u8>, event: Value) -> Result<Kind, Error> {
    if RHash::from_value(event).is_some() {
        let (bytes, written) = append_json(ruby, std::mem::take(buffer), event);
        *buffer = bytes;
        return written.map(|()| Kind::Json);
    }
    let Some(bytes) = RString::from_value(event) else {
        let class = event.class();
        return Err(Error::new(ruby.exception_arg_error(), format!("An event is a Hash or a String of bytes, not {class}.")));
    };
    // SAFETY: the String is on this stack and is copied before Ruby code runs.
    buffer.extend_from_slice(unsafe { bytes.as_slice() });
    Ok(Kind::Bytes)
}

/// Appends the JSON of a Hash without its end, so that a member can follow.
fn begin_object(ruby: &Ruby, buffer: &mut Vec<u8>, with: Value) -> Result<(), Error> {
    if RHash::from_value(with).is_none() {
        return Err(Error::new(ruby.exception_type_error(), format!("with: is a Hash, not {}.", with.class())));
    }
    add_json(ruby, buffer, with)?;
    buffer.pop();
    Ok(())
}

fn add_json(ruby: &Ruby, buffer: &mut Vec<u8>, value: Value) -> Result<(), Error> {
    let (bytes, written) = append_json(ruby, std::mem::take(buffer), value);
    *buffer = bytes;
    written
}

/// The ID, the kind and the end in `buffer` of each event.
fn encode_all(ruby: &Ruby, buffer: &mut Vec<u8>, events: RArray, ids: RString) -> Result<Vec<(Id, Kind, usize)>, Error> {
    // SAFETY: the String is on this stack and is copied at once.
    let packed = unsafe { ids.as_slice() }.to_vec();
    let (ids, rest) = packed.as_chunks::<16>();
    if ids.len() != events.len() || !rest.is_empty() {
        let sentence = format!("{} events have {} bytes of ids.", events.len(), ids.len() * 16 + rest.len());
        return Err(Error::new(ruby.exception_arg_error(), sentence));
    }
    let mut parts = Vec::with_capacity(ids.len());
    for (index, id) in ids.iter().enumerate() {
        // A `to_json` may have shortened the array. Then this entry is nil, which is not an event.
        let kind = encode(ruby, buffer, events.entry(index as isize)?)?;
        parts.push((*id, kind, buffer.len()));
    }
    Ok(parts)
}

fn to_id(ruby: &Ruby, id: RString) -> Result<Id, Error> {
    // SAFETY: the String is on this stack and is copied at once.
    let bytes = unsafe { id.as_slice() };
    bytes.try_into().map_err(|_| Error::new(ruby.exception_arg_error(), format!("An id has 16 bytes, not {}.", bytes.len())))
}

/// `Elah::SinkJournal.id_text(raw)`: an ID of 16 bytes as a UUID.
fn id_text(ruby: &Ruby, raw: RString) -> Result<String, Error> {
    to_id(ruby, raw).map(|id| elah_journal::id_text(&id))
}

fn give_back(mut buffer: Vec<u8>) {
    if buffer.capacity() <= KEPT_BYTES_MAX {
        buffer.clear();
        BUFFER.set(buffer);
    }
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<RubyJournal>(ruby, elah, "SinkJournal")?;
    class.define_singleton_method("open", function!(RubyJournal::open, 4))?;
    class.define_singleton_method("scan", function!(RubyJournal::scan, 3))?;
    class.define_singleton_method("salvage", function!(RubyJournal::salvage, 1))?;
    class.define_singleton_method("whole_bytes", function!(RubyJournal::whole_bytes, 1))?;
    class.define_singleton_method("id_text", function!(id_text, 1))?;
    class.define_method("append", method!(RubyJournal::append, 4))?;
    class.define_method("append_request", method!(RubyJournal::append_request, 4))?;
    class.define_method("append_record", method!(RubyJournal::append_record, 5))?;
    class.define_method("append_all", method!(RubyJournal::append_all, 3))?;
    class.define_method("append_items", method!(RubyJournal::append_items, 5))?;
    class.define_method("next_id", method!(RubyJournal::next_id, 0))?;
    class.define_method("next_ids", method!(RubyJournal::next_ids, 1))?;
    class.define_method("now_ms", method!(RubyJournal::now_ms, 0))?;
    class.define_method("wait_synced", method!(RubyJournal::wait_synced, 1))?;
    class.define_method("wait_appended", method!(RubyJournal::wait_appended, 1))?;
    class.define_method("wait_released", method!(RubyJournal::wait_released, 2))?;
    class.define_method("forget", method!(RubyJournal::forget, 2))?;
    class.define_method("read", method!(RubyJournal::read, 3))?;
    class.define_method("take_tally", method!(RubyJournal::take_tally, 0))?;
    class.define_method("release", method!(RubyJournal::release, 1))?;
    class.define_method("end", method!(RubyJournal::end, 0))?;
    class.define_method("released", method!(RubyJournal::released, 0))?;
    class.define_method("bytes", method!(RubyJournal::bytes, 0))?;
    class.define_method("check", method!(RubyJournal::check, 0))?;
    class.define_method("damages", method!(RubyJournal::damages, 0))?;
    class.define_method("close", method!(RubyJournal::close, 0))?;
    class.define_method("closed?", method!(RubyJournal::is_closed, 0))?;
    Ok(())
}
