//! `Elah::Permutation`: a keyed permutation of numbers; see `lib/elah/codecs/permutation.rb`.

use elah_permutation::Permutation;
use magnus::value::ReprValue;
use magnus::{Error, Integer, Module, Object, RModule, RString, Ruby, Value, function, method};

use crate::ruby::native_class;
use crate::ruby::receiver::Receiver;

#[magnus::wrap(class = "Elah::Permutation", free_immediately, size)]
struct RubyPermutation {
    permutation: Permutation,
}

type This = Receiver<RubyPermutation>;

impl RubyPermutation {
    fn open(ruby: &Ruby, secret: RString, size: Value) -> Result<Self, Error> {
        let size = integer(ruby, size)?.to_u64()?;
        // SAFETY: the String is on this stack, and Ruby does not run while it is borrowed.
        let secret = unsafe { secret.as_slice() };
        let permutation = Permutation::new(secret, size)
            .map_err(|misuse| Error::new(ruby.exception_arg_error(), format!("A permutation {misuse}.")))?;
        Ok(RubyPermutation { permutation })
    }

    fn call(ruby: &Ruby, this: This, number: Value) -> Result<u64, Error> {
        let number = integer(ruby, number)?.to_u64()?;
        this.permutation.call(number).ok_or_else(|| {
            let sentence = format!("This permutation maps the numbers below {}, not {number}.", this.permutation.size());
            Error::new(ruby.exception_range_error(), sentence)
        })
    }

    fn size(this: This) -> u64 {
        this.permutation.size()
    }
}

/// Ruby would convert a Float.
fn integer(ruby: &Ruby, value: Value) -> Result<Integer, Error> {
    Integer::from_value(value).ok_or_else(|| {
        let sentence = format!("A permutation maps Integers, not {}.", value.class());
        Error::new(ruby.exception_type_error(), sentence)
    })
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<RubyPermutation>(ruby, elah, "Permutation")?;
    class.define_singleton_method("open", function!(RubyPermutation::open, 2))?;
    class.define_method("call", method!(RubyPermutation::call, 1))?;
    class.define_method("size", method!(RubyPermutation::size, 0))
}
