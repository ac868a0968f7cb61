//! Defines the Ruby class of a native type.

use magnus::{Class, Error, Module, RClass, Ruby, TypedData};

/// The class `name` below `parent`, whose instances the native side alone makes.
///
/// magnus looks a type's class up when its first instance is made, inside a lock that Rust waits for with Ruby's lock held: two
/// threads that meet there never go on. So it is looked up here, while there is one thread.
pub(crate) fn define<T: TypedData>(ruby: &Ruby, parent: impl Module, name: &str) -> Result<RClass, Error> {
    let class = parent.define_class(name, ruby.class_object())?;
    class.undef_default_alloc_func();
    T::class(ruby);
    Ok(class)
}
