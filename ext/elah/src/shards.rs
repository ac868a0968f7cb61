//! `Elah::Shards`, the native half of entities: what their calls write, gathered and committed in groups under the claims on shards.

mod answers;
pub(crate) mod call_columns;
mod commits;
mod copies;
mod idle_calls;
pub(crate) mod index;
pub(crate) mod resting;
pub(crate) mod state;

use std::sync::Arc;

use elah_core::store::Claim;
use magnus::{Error, Module, RModule, RString, Ruby, function, method};

use crate::native_class;

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

    /// The same right anew; nil when another owner has the shard.
    fn renewed(&self) -> Option<RubyClaim> {
        self.claim.renewed().map(|claim| RubyClaim { claim })
    }
}

/// The shard of a key among `shards`: FNV-1a of 64 bits, its halves combined by exclusive or, modulo the number of shards. It is part of
/// what is stored, so it never changes.
fn shard_of_bytes(key: &[u8], shards: u32) -> u32 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let hash = key.iter().fold(OFFSET, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    ((hash >> 32) as u32 ^ hash as u32) % shards.max(1)
}

fn shard_of(key: RString, shards: u32) -> u32 {
    crate::store::with_bytes(key, |key| shard_of_bytes(key, shards))
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
    answers::init(shards)?;
    call_columns::init(ruby, shards)?;
    commits::init(ruby, shards)?;
    idle_calls::init(shards)?;
    index::init(ruby, shards)?;
    resting::init(shards)?;
    state::init(ruby, shards)
}
