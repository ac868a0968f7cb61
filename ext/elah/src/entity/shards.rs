//! `Elah::Shards`, the native half of entities: the writes of their calls, gathered and committed in groups under the claims on
//! shards.

mod commits;
mod copies;
pub(crate) mod index;
mod replies;
pub(crate) mod state;

use std::sync::Arc;

use elah_store::Claim;
use magnus::{Error, Module, RModule, RString, Ruby, function, method};

use crate::ruby::native_class;

/// `Elah::Shards::Claim`: this process's right to write to one shard.
#[magnus::wrap(class = "Elah::Shards::Claim", free_immediately, size)]
pub(crate) struct RubyClaim {
    claim: Arc<Claim>,
}

impl RubyClaim {
    fn shard(&self) -> u16 {
        self.claim.shard()
    }

    fn epoch(&self) -> u64 {
        self.claim.epoch()
    }

    fn has_failed(&self) -> bool {
        self.claim.has_failed()
    }

    /// The same right again; nil if another owner has the shard.
    fn renewed(&self) -> Option<RubyClaim> {
        self.claim.renewed().map(|claim| RubyClaim { claim })
    }
}

/// The shard of a key among `shards`: FNV-1a of 64 bits, its halves combined by exclusive or, modulo the number of shards. Stored
/// data depends on it, so it never changes.
fn shard_of(key: RString, shards: u32) -> u32 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
    let hash = crate::store::with_bytes(key, |key| key.iter().fold(OFFSET, step));
    ((hash >> 32) as u32 ^ hash as u32) % shards.max(1)
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let shards = elah.define_module("Shards")?;
    shards.define_module_function("of", function!(shard_of, 2))?;
    let claim = native_class::define::<RubyClaim>(ruby, shards, "Claim")?;
    claim.define_method("shard", method!(RubyClaim::shard, 0))?;
    claim.define_method("epoch", method!(RubyClaim::epoch, 0))?;
    claim.define_method("failed?", method!(RubyClaim::has_failed, 0))?;
    claim.define_method("renewed", method!(RubyClaim::renewed, 0))?;
    shards.define_module_function("check_arguments", function!(copies::check_arguments, 1))?;
    replies::init(shards)?;
    commits::init(ruby, shards)?;
    index::init(ruby, shards)?;
    state::init(ruby, shards)
}
