//! `Elah::Clients::Redis`: the native half of `Elah::Redis`. One connection per loop, shared by all its fibers.

mod arguments;
mod errors;
mod subscription;
mod values;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use elah_clients::redis::{
    Client, ClusterClient, Commands, Error as RedisError, Item, Name, Refusal, Replies, Settings, Times, Waiter,
};
use magnus::value::ReprValue;
use magnus::{
    DataTypeFunctions, Error, Module, Object, RArray, RClass, RHash, RModule, Ruby, TryConvert, TypedData, Value, method,
};

use crate::concurrency::future_wait::{Home, PerHome};
use crate::concurrency::wait::{Completer, InFlight, suspend};
use crate::ruby::native_class;
use crate::ruby::receiver::Receiver;
use errors::{raised, refused};
use subscription::RubySubscription;

/// The failure of a command sent with `post`.
enum Failure {
    NoReply(RedisError),
    Refused(Name, Refusal),
}

/// The failure of a post, and the process that sent it, until it is raised.
type Posted = Arc<Mutex<Option<(u32, Failure)>>>;

/// The receiver of the replies. That of a command sent with `post` counts as in flight while it exists.
enum Asked {
    Caller(Completer<Result<Replies, RedisError>>),
    Nobody(Name, Posted, InFlight),
}

impl Waiter for Asked {
    fn end(self, outcome: Result<Replies, RedisError>) {
        match self {
            Asked::Caller(completer) => completer.complete(outcome),
            Asked::Nobody(name, failure, in_flight) => {
                remember_failure(name, outcome, &failure);
                drop(in_flight);
            }
        }
    }
}

fn remember_failure(name: Name, outcome: Result<Replies, RedisError>, failure: &Mutex<Option<(u32, Failure)>>) {
    let failed = match outcome {
        Err(error) => Failure::NoReply(error),
        Ok(mut replies) => match replies.next_item() {
            Item::Refusal(line) => Failure::Refused(name, Refusal::new(line)),
            _ => return,
        },
    };
    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some((std::process::id(), failed));
}

#[derive(TypedData)]
#[magnus(class = "Elah::Clients::Redis", free_immediately)]
pub(crate) struct RubyRedis {
    settings: Settings,
    clients: PerHome<Client<Asked>>,
    clusters: PerHome<ClusterClient>,
    failure: Posted,
    is_closed: AtomicBool,
}

impl DataTypeFunctions for RubyRedis {}

impl RubyRedis {
    fn open(ruby: &Ruby, class: RClass, url: String, ca_file: Option<String>, bounds: RHash) -> Result<Value, Error> {
        let settings =
            Settings::read(&url, ca_file.as_deref(), read_times(ruby, bounds)?).map_err(|error| raised(ruby, &error))?;
        let redis = RubyRedis {
            settings,
            clients: PerHome::new(),
            clusters: PerHome::new(),
            failure: Arc::new(Mutex::new(None)),
            is_closed: AtomicBool::new(false),
        };
        Ok(ruby.obj_wrap_as(redis, class).as_value())
    }

    /// Runs one command and returns its reply.
    fn call(ruby: &Ruby, redis: Receiver<Self>, words: &[Value]) -> Result<Value, Error> {
        let commands = arguments::single(ruby, words)?;
        let name = commands.name();
        let mut replies = redis.run(ruby, commands, false)?;
        let value = values::Reader { ruby, server: redis.settings.server(), name }.top(&mut replies)?;
        Ok(value)
    }

    /// Runs commands, each an Array, and returns their replies; a refusal is an exception in its place.
    fn run_all(ruby: &Ruby, redis: &Self, commands: RArray, is_transaction: bool) -> Result<RArray, Error> {
        let (commands, names) = arguments::several(ruby, commands)?;
        let server = redis.settings.server();
        let name = if is_transaction { Name::new(b"MULTI") } else { commands.name() };
        let mut replies = redis.run(ruby, commands, is_transaction)?;
        if !is_transaction {
            return values::each(ruby, server, &names, &mut replies);
        }
        replies.enter_transaction(names.len() as u32).map_err(|refusal| refused(ruby, server, name, &refusal))?;
        match replies.next_item() {
            Item::Array(_) => values::each(ruby, server, &names, &mut replies),
            Item::Refusal(line) => Err(refused(ruby, server, name, &Refusal::new(line))),
            _ => Ok(ruby.ary_new()),
        }
    }

    /// Sends one command without waiting for its reply. Raises the error of an earlier one.
    fn post(ruby: &Ruby, redis: Receiver<Self>, words: &[Value]) -> Result<bool, Error> {
        let failure = redis.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        match failure.filter(|(process, _)| *process == std::process::id()).map(|(_, failure)| failure) {
            Some(Failure::NoReply(error)) => return Err(raised(ruby, &error)),
            Some(Failure::Refused(name, refusal)) => return Err(refused(ruby, redis.settings.server(), name, &refusal)),
            None => {}
        }
        let commands = arguments::single(ruby, words)?;
        let name = commands.name();
        let failure = Arc::clone(&redis.failure);
        let home = redis.home(ruby)?;
        let in_flight = home.in_flight();
        if redis.settings.is_cluster() {
            match redis.cluster(home).run(commands) {
                Ok(work) => {
                    home.start(ruby, async move {
                        remember_failure(name, work.await, &failure);
                        drop(in_flight);
                    })?;
                }
                Err(error) => remember_failure(name, Err(error), &failure),
            }
        } else if let Some(driver) = redis.client(home).submit(&commands, Asked::Nobody(name, failure, in_flight)) {
            home.start(ruby, driver.run())?;
        }
        Ok(true)
    }

    /// The number of commands that threads without a loop have posted, and that have no reply yet.
    fn posted_in_background(_: RClass) -> usize {
        Home::background().in_flight().count() - 1 // its own clone
    }

    fn subscribe(ruby: &Ruby, redis: &Self, channels: RArray, patterns: RArray) -> Result<RubySubscription, Error> {
        let (channels, patterns) = (arguments::texts(ruby, channels)?, arguments::texts(ruby, patterns)?);
        let home = redis.home(ruby)?;
        let masters = if redis.settings.is_cluster() { redis.cluster(home).addresses() } else { Vec::new() };
        RubySubscription::open(ruby, home, redis.settings.clone(), masters, channels, patterns)
    }

    fn run(&self, ruby: &Ruby, commands: Commands, is_transaction: bool) -> Result<Replies, Error> {
        let home = self.home(ruby)?;
        let outcome = if self.settings.is_cluster() {
            let cluster = self.cluster(home);
            let work = if is_transaction { cluster.run_transaction(commands) } else { cluster.run(commands) };
            match work {
                Ok(work) => home.wait_for(ruby, work)?,
                Err(error) => Err(error),
            }
        } else {
            let commands = if is_transaction { commands.into_transaction() } else { commands };
            let client = self.client(home);
            let mut started = Ok(());
            let outcome = suspend(ruby, |completer| {
                if let Some(driver) = client.submit(&commands, Asked::Caller(completer)) {
                    started = home.start(ruby, driver.run()).map(|_| ());
                }
            });
            started?;
            outcome?
        };
        outcome.map_err(|error| raised(ruby, &error))
    }

    fn home(&self, ruby: &Ruby) -> Result<Home, Error> {
        if self.is_closed() {
            return Err(raised(ruby, &RedisError::Closed { server: self.settings.server().into() }));
        }
        Home::current(ruby)
    }

    fn client(&self, home: Home) -> Arc<Client<Asked>> {
        self.clients.get(home, || Client::new(self.settings.clone()))
    }

    fn cluster(&self, home: Home) -> Arc<ClusterClient> {
        self.clusters.get(home, || ClusterClient::new(self.settings.clone()))
    }

    fn server(&self) -> &str {
        self.settings.server()
    }

    fn is_cluster(&self) -> bool {
        self.settings.is_cluster()
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.clients.each(Client::close); // those who wait hold it
        self.clusters.each(ClusterClient::close);
        self.clients.close();
        self.clusters.close();
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }
}

fn read_times(ruby: &Ruby, bounds: RHash) -> Result<Times, Error> {
    fn fetch<T: TryConvert>(ruby: &Ruby, bounds: RHash, name: &str) -> Result<T, Error> {
        bounds.fetch(ruby.to_symbol(name))
    }
    let duration = |name: &str| {
        fetch::<f64>(ruby, bounds, name).map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    };
    Ok(Times {
        connect: duration("connect_seconds")?,
        command: duration("command_seconds")?,
        in_flight_max: fetch(ruby, bounds, "in_flight_max")?,
        messages_max: fetch(ruby, bounds, "messages_max")?,
    })
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let clients = elah.define_module("Clients")?;
    let class = native_class::define::<RubyRedis>(ruby, clients, "Redis")?;
    class.define_singleton_method("open", method!(RubyRedis::open, 3))?;
    class.define_singleton_method("posted_in_background", method!(RubyRedis::posted_in_background, 0))?;
    class.define_method("call", method!(RubyRedis::call, -1))?;
    class.define_method("post", method!(RubyRedis::post, -1))?;
    class.define_method("run_all", method!(RubyRedis::run_all, 2))?;
    class.define_method("subscribe_native", method!(RubyRedis::subscribe, 2))?;
    class.define_method("server", method!(RubyRedis::server, 0))?;
    class.define_method("cluster?", method!(RubyRedis::is_cluster, 0))?;
    class.define_method("close", method!(RubyRedis::close, 0))?;
    class.define_method("closed?", method!(RubyRedis::is_closed, 0))?;
    subscription::init(ruby, clients)
}
