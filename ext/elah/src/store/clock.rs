//! `Elah::Store::Clock`: a clock that stands still until it is moved, for tests of expiry.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use magnus::{Error, Module, Object, RClass, Ruby, function, method};

use crate::ruby::native_class;

#[magnus::wrap(class = "Elah::Store::Clock", free_immediately, size)]
pub(crate) struct RubyClock {
    time: Arc<AtomicU64>,
}

impl RubyClock {
    fn new(now_ms: u64) -> Self {
        RubyClock { time: Arc::new(AtomicU64::new(now_ms)) }
    }

    pub(crate) fn time(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.time)
    }

    fn now_ms(&self) -> u64 {
        self.time.load(Ordering::Acquire)
    }

    fn advance(&self, milliseconds: u64) {
        self.time.fetch_add(milliseconds, Ordering::AcqRel);
    }
}

pub(super) fn init(ruby: &Ruby, store: RClass) -> Result<(), Error> {
    let class = native_class::define::<RubyClock>(ruby, store, "Clock")?;
    class.define_singleton_method("new_native", function!(RubyClock::new, 1))?;
    class.define_method("now_ms", method!(RubyClock::now_ms, 0))?;
    class.define_method("advance_native", method!(RubyClock::advance, 1))?;
    Ok(())
}
