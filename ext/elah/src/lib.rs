//! The Ruby binding of `elah-core`: registers one Ruby class per file and holds no policy.

use magnus::{Error, Ruby};

#[magnus::init]
fn init(ruby: &Ruby) -> Result<(), Error> {
    let _elah = ruby.define_module("Elah")?;
    Ok(())
}
