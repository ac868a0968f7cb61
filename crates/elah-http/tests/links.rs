//! Links of a worker to itself: the order of replies, calls that never run, and the end of a connection.

use std::collections::HashSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use elah_http::limits::Limits;
use elah_http::router::Router;
use elah_http::worker::Worker;
use elah_links::{Bounds, Fate, IncomingCall, Links, Outcome, Reason, Refusal};
use elah_loop::wake::WaitId;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(20);
const LONG: Duration = Duration::from_secs(60);

struct World {
    worker: Worker,
    folder: TempDir,
    caller: usize,
    owner: usize,
}

impl World {
    fn new(bounds: Bounds) -> World {
        let limits = Limits {
            connections_max: 1,
            fibers_max: 1,
            queue_max: 1,
            queue_ms: 1,
            header_bytes_max: 1024,
            headers_max: 10,
            uri_bytes_max: 1024,
            body_bytes_max: 1024,
            body_memory_bytes: 1024,
            header_ms: 1000,
            body_ms: 1000,
            keepalive_ms: 1000,
            request_ms: 1000,
            write_ms: 1000,
            response_buffer_bytes: 1024,
            pipeline_max: 1,
        };
        let worker = Worker::new(limits, Arc::new(Router::new()), HashSet::new(), Vec::new()).expect("the runtime starts");
        let folder = TempDir::new().expect("a folder");
        let open =
            |name| worker.open_links(&folder.path().join("links").join(name), bounds.clone(), None).expect("the socket is bound");
        let (caller, owner) = (open("caller.sock"), open("owner.sock"));
        World { worker, folder, caller, owner }
    }

    fn caller(&self) -> Rc<Links> {
        self.worker.links(self.caller).expect("the caller's links are open")
    }

    fn owner(&self) -> Rc<Links> {
        self.worker.links(self.owner).expect("the owner's links are open")
    }

    fn owner_path(&self) -> PathBuf {
        self.folder.path().join("links/owner.sock")
    }

    fn call(&self, payload: &[u8], items: u32, remaining: Duration) -> Result<WaitId, Refusal> {
        let wait = self.worker.new_wait();
        self.caller().call(self.owner_path().to_str().expect("the path is text"), payload, items, remaining, wait)?;
        Ok(wait)
    }

    /// Iterates the loop until `look` returns something.
    fn iterate_until<R>(&self, mut look: impl FnMut() -> Option<R>) -> R {
        let give_up_at = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(Instant::now() < give_up_at, "it does not come to that");
            self.worker.start_timer(self.worker.new_wait(), Duration::from_millis(1));
            self.worker.iterate();
            self.worker.take_ended_waits(&mut Vec::new());
        }
    }

    fn next_call(&self) -> IncomingCall {
        self.iterate_until(|| self.owner().next_incoming())
    }

    fn outcome(&self, wait: WaitId) -> Outcome {
        self.iterate_until(|| self.caller().is_settled(wait).then(|| self.caller().take(wait).expect("it was not taken")))
    }
}

fn bounds() -> Bounds {
    Bounds { links_max: 2, calls_max: 4, waiting_bytes_max: 10_000, payload_bytes_max: 5000 }
}

fn texts(outcome: &Outcome) -> Vec<&[u8]> {
    outcome.parts.iter().map(|part| &part[..]).collect()
}

#[test]
fn replies_find_their_calls_in_any_order_and_in_parts() {
    let world = World::new(bounds());
    let waits: Vec<_> = (0..3_u8).map(|number| world.call(&[number], 2, LONG).unwrap()).collect();
    let mut calls: Vec<_> = waits.iter().map(|_| world.next_call()).collect();
    assert_eq!(calls.iter().map(|call| (call.payload[0], call.items)).collect::<Vec<_>>(), [(0, 2), (1, 2), (2, 2)]);
    assert!(calls.iter().all(|call| call.remaining <= LONG && call.remaining > LONG / 2));
    calls.reverse();
    for part in [10, 20] {
        for call in &calls {
            assert!(world.owner().reply(call.key, 1, &[part + call.payload[0]]));
        }
    }
    for (number, wait) in waits.into_iter().enumerate() {
        let number = u8::try_from(number).unwrap();
        let outcome = world.outcome(wait);
        assert_eq!(outcome.fate, Fate::Replied);
        assert_eq!(texts(&outcome), [[10 + number], [20 + number]]);
        assert!(world.caller().take(wait).is_none(), "it is taken once");
    }
    assert!(!world.owner().reply(calls[0].key, 1, b"more"));
    assert_eq!((world.owner().open_incoming(), world.owner().unread_bytes()), (0, 0));
}

#[test]
fn what_is_cancelled_before_it_is_handed_out_is_never_run() {
    let world = World::new(bounds());
    let (first, second) = (world.call(b"first", 1, LONG).unwrap(), world.call(b"second", 1, LONG).unwrap());
    assert_eq!(world.caller().take(first).unwrap().fate, Fate::Pending);
    let call = world.next_call();
    assert_eq!(&call.payload[..], b"second");
    assert!(world.owner().is_awaited(call.key));
    assert_eq!(world.caller().take(second).unwrap().fate, Fate::Pending);
    assert_eq!(world.iterate_until(|| world.owner().take_cancelled().pop()), call.key);
    assert!(!world.owner().is_awaited(call.key));
    assert!(!world.owner().reply(call.key, 1, b"late"));
    assert!(world.owner().take_cancelled().is_empty(), "each once");
}

#[test]
fn what_is_too_late_on_arrival_is_never_run() {
    let world = World::new(bounds());
    world.call(b"late", 1, Duration::ZERO).unwrap();
    world.call(b"in time", 1, LONG).unwrap();
    assert_eq!(&world.next_call().payload[..], b"in time");
}

#[test]
fn bounds_refuse_at_once() {
    let world = World::new(bounds());
    assert!(matches!(world.call(&[0; 5001], 1, LONG), Err(Refusal::TooLong { bytes: 5001, max: 5000 })));
    let waits: Vec<_> = (0..2).map(|_| world.call(&[0; 4900], 1, LONG).unwrap()).collect();
    assert!(matches!(world.call(&[0; 1000], 1, LONG), Err(Refusal::BytesFull { max: 10_000 })));
    world.iterate_until(|| (world.caller().states()[0].waiting_bytes == 0).then_some(()));
    world.call(b"third", 1, LONG).unwrap();
    world.call(b"fourth", 1, LONG).unwrap();
    assert!(matches!(world.call(b"fifth", 1, LONG), Err(Refusal::CallsFull { max: 4 })));
    world.caller().take(waits[0]);
    world.call(b"fifth", 1, LONG).unwrap();
    let other = |name| world.caller().call(name, b"x", 1, LONG, world.worker.new_wait());
    other("/nobody/one.sock").unwrap();
    assert!(matches!(other("/nobody/two.sock"), Err(Refusal::LinksFull { max: 2 })));
}

#[test]
fn an_owner_refuses_what_is_beyond_its_own_bound_and_drops_replies_that_nobody_reads() {
    let world = World::new(Bounds { calls_max: 2, payload_bytes_max: 9000, ..bounds() });
    let generous = Bounds { calls_max: 100, payload_bytes_max: 9000, ..bounds() };
    let caller = world.worker.open_links(&world.folder.path().join("links/generous.sock"), generous, None).unwrap();
    let caller = world.worker.links(caller).unwrap();
    let waits: Vec<_> = (0..3).map(|_| world.worker.new_wait()).collect();
    for wait in &waits {
        caller.call(world.owner_path().to_str().unwrap(), b"x", 1, LONG, *wait).unwrap();
    }
    let third = world.iterate_until(|| caller.is_settled(waits[2]).then(|| caller.take(waits[2]).unwrap()));
    assert_eq!(third.fate, Fate::Failed(Reason::Overloaded));
    let calls = [world.next_call(), world.next_call()];
    assert!(world.owner().reply(calls[0].key, 1, &[0; 9000]));
    assert!(!world.owner().reply(calls[1].key, 1, &[0; 9000]), "both do not fit");
    let second = world.iterate_until(|| caller.is_settled(waits[1]).then(|| caller.take(waits[1]).unwrap()));
    assert_eq!(second.fate, Fate::Failed(Reason::Unread));
}

#[test]
fn who_cannot_be_reached_has_run_nothing_and_who_is_lost_may_have() {
    let world = World::new(bounds());
    let path = world.owner_path();
    let lost = world.call(b"x", 1, LONG).unwrap();
    let call = world.next_call();
    world.worker.close_links(world.owner);
    assert!(matches!(world.outcome(lost).fate, Fate::Lost(_)));
    assert!(!path.exists(), "the socket goes with the links");
    let unreached = world.call(b"x", 1, LONG).unwrap();
    assert!(matches!(world.outcome(unreached).fate, Fate::NotRun(cause) if cause.contains("No such file")));
    let refused = world.iterate_until(|| match world.call(b"x", 1, LONG) {
        Err(refusal) => Some(refusal),
        Ok(wait) => {
            assert!(matches!(world.outcome(wait).fate, Fate::NotRun(_)));
            None
        }
    });
    assert!(matches!(refused, Refusal::Unreachable { .. }), "the back-off says so at once");
    let again = world.worker.open_links(&path, bounds(), None).unwrap();
    let again = world.worker.links(again).unwrap();
    let wait = world.iterate_until(|| world.call(b"x", 1, LONG).ok());
    let next = world.iterate_until(|| again.next_incoming());
    assert_eq!(&call.payload, &next.payload);
    again.reply(next.key, 1, b"back");
    assert_eq!(texts(&world.outcome(wait)), [b"back"]);
}

#[test]
fn the_calls_of_a_caller_that_goes_are_cancelled() {
    let world = World::new(bounds());
    world.call(b"x", 1, LONG).unwrap();
    let call = world.next_call();
    world.worker.close_links(world.caller);
    assert_eq!(world.iterate_until(|| world.owner().take_cancelled().pop()), call.key);
}

/// As the look-up of a machine's name: a worker that had drained stayed until the resolver replied.
#[test]
fn the_end_of_a_worker_waits_for_no_blocking_work() {
    let world = World::new(bounds());
    let ((release, released), (begin, begun)) = (mpsc::channel::<()>(), mpsc::channel());
    world.worker.spawn(world.worker.new_wait(), async move {
        let work = move || (begin.send(()), released.recv_timeout(PATIENCE));
        let _ = tokio::task::spawn_blocking(work).await;
    });
    world.iterate_until(|| begun.try_recv().ok());
    drop(world.worker);
    release.send(()).expect("the work goes on");
}
