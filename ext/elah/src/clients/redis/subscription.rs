//! `Elah::Clients::RedisSubscription`: the messages of some channels, read one after the other.

use std::sync::Arc;
use std::time::Duration;

use elah_clients::redis::{Message, Next, Settings, Subscription};
use elah_loop::task::Task;
use magnus::value::ReprValue;
use magnus::{Error, Module, RModule, Ruby, Value, method};

use super::errors::raised;
use crate::concurrency::future_wait::Home;
use crate::ruby::native_class;

#[magnus::wrap(class = "Elah::Clients::RedisSubscription", size)]
pub(super) struct RubySubscription {
    subscription: Arc<Subscription>,
    feed: Task,
}

impl RubySubscription {
    pub(super) fn open(
        ruby: &Ruby,
        home: Home,
        settings: Settings,
        masters: Vec<(String, u16)>,
        channels: Vec<Vec<u8>>,
        patterns: Vec<Vec<u8>>,
    ) -> Result<Self, Error> {
        let opened = home.wait_for(ruby, Subscription::open(settings, masters, channels, patterns))?;
        let (subscription, feed) = opened.map_err(|error| raised(ruby, &error))?;
        Ok(RubySubscription { subscription: Arc::new(subscription), feed: home.start(ruby, feed)? })
    }

    /// `[channel, pattern, payload]`; nil if nothing came in time, false when the subscription is over.
    fn next(ruby: &Ruby, rb_self: &Self, seconds: Option<f64>) -> Result<Value, Error> {
        let within = seconds.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX));
        let subscription = Arc::clone(&rb_self.subscription);
        match Home::current(ruby)?.wait_for(ruby, async move { subscription.next(within).await })? {
            Next::Nothing => Ok(ruby.qnil().as_value()),
            Next::Over => Ok(ruby.qfalse().as_value()),
            Next::Message(Message { channel, pattern, payload }) => {
                let array = ruby.ary_new_capa(3);
                array.push(ruby.str_from_slice(&channel))?;
                array.push(pattern.map(|pattern| ruby.str_from_slice(&pattern)))?;
                array.push(ruby.str_from_slice(&payload))?;
                Ok(array.as_value())
            }
        }
    }

    fn losses(&self) -> u64 {
        self.subscription.losses()
    }

    fn close(&self) {
        self.feed.abort();
    }
}

impl Drop for RubySubscription {
    fn drop(&mut self) {
        self.feed.abort();
    }
}

pub(super) fn init(ruby: &Ruby, clients: RModule) -> Result<(), Error> {
    let class = native_class::define::<RubySubscription>(ruby, clients, "RedisSubscription")?;
    class.define_method("next", method!(RubySubscription::next, 1))?;
    class.define_method("losses", method!(RubySubscription::losses, 0))?;
    class.define_method("close", method!(RubySubscription::close, 0))?;
    Ok(())
}
