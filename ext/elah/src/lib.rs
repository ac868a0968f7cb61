//! The Ruby binding of `elah-core`: one Ruby class per file, each registered by its `init`. It holds no policy.

mod errors;
mod gvl;
mod router;
mod wait;

use magnus::{Error, Ruby};

#[magnus::init]
fn init(ruby: &Ruby) -> Result<(), Error> {
    let elah = ruby.define_module("Elah")?;
    router::init(ruby, elah)?;
    Ok(())
}
