//! Copies of the arguments and results of entity calls, so that an entity shares no object with its callers. The result is that
//! of `Marshal`, which calls of other workers use. Plain values are copied here, which is many times faster.

use std::cell::Cell;
use std::ffi::c_int;
use std::hint::black_box;
use std::sync::OnceLock;

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::value::ReprValue;
use magnus::{Class, Error, RArray, Ruby, Value};
use rb_sys::{VALUE, ruby_fl_type, ruby_value_type as Type};

use crate::ruby::raising::{self, Protected, protect};
use crate::ruby::raw_objects::{call, entry, names};

static NAMES: OnceLock<Names> = OnceLock::new();

names! {
    default: c"default", default_proc: c"default_proc", is_by_identity: c"compare_by_identity?",
    is_keywords: c"ruby2_keywords_hash?", keywords: c"ruby2_keywords_hash",
}

/// The deepest nesting of containers copied here; deeper ones, which may be circular, use `Marshal`.
const DEPTH_MAX: usize = 16;
/// The most values copied here; larger ones, which may repeat a few values, use `Marshal`.
const VALUES_MAX: usize = 20_000;

/// Whether a value is known to be immutable: numbers, Symbols, nil, true, false, frozen Strings, and what `Ractor.make_shareable` has
/// frozen with all that it refers to, which is marked.
///
/// # Safety
/// `value` is live.
unsafe fn is_fixed(value: VALUE) -> bool {
    // SAFETY: the caller's promise; what is no special constant is a pointer to an object.
    unsafe {
        rb_sys::SPECIAL_CONST_P(value)
            || match rb_sys::RB_BUILTIN_TYPE(value) {
                Type::RUBY_T_SYMBOL | Type::RUBY_T_FLOAT | Type::RUBY_T_BIGNUM => true,
                Type::RUBY_T_STRING => is_bare(value, rb_sys::rb_cString) && has_flag(value, ruby_fl_type::RUBY_FL_FREEZE),
                Type::RUBY_T_ARRAY | Type::RUBY_T_HASH | Type::RUBY_T_STRUCT | Type::RUBY_T_OBJECT => {
                    has_flag(value, ruby_fl_type::RUBY_FL_SHAREABLE)
                }
                _ => false,
            }
    }
}

/// The copy of a value.
///
/// # Safety
/// A live value. Raises the exception of `Marshal` for a value that it cannot copy.
unsafe fn copied(protected: Protected<'_>, value: VALUE) -> VALUE {
    // SAFETY: the caller's promise; nothing here has to be dropped.
    unsafe {
        if let Some(copy) = plain_copy(protected, value) {
            return copy;
        }
        let bytes = raising::rb_marshal_dump(protected, value, rb_sys::Qnil as VALUE);
        let copy = raising::rb_marshal_load(protected, bytes);
        black_box(bytes); // stays on the stack while it is read: `Marshal` does not mark it
        copy
    }
}

/// The copy of a value of Ruby's plain classes; `None` for any other, and for very large or deep ones.
///
/// # Safety
/// A live value.
unsafe fn plain_copy(protected: Protected<'_>, value: VALUE) -> Option<VALUE> {
    let mut left = VALUES_MAX;
    // SAFETY: the caller's promise.
    unsafe { part_copy(protected, value, DEPTH_MAX, &mut left) }
}

/// # Safety
/// A live value.
unsafe fn part_copy(protected: Protected<'_>, value: VALUE, depth: usize, left: &mut usize) -> Option<VALUE> {
    // SAFETY: the caller's promise; types are looked at first.
    unsafe {
        if is_fixed(value) {
            return Some(value);
        }
        *left = left.checked_sub(1)?;
        let depth = depth.checked_sub(1)?;
        match rb_sys::RB_BUILTIN_TYPE(value) {
            Type::RUBY_T_STRING if is_bare(value, rb_sys::rb_cString) => Some(raising::rb_str_dup(protected, value)),
            Type::RUBY_T_ARRAY if is_bare(value, rb_sys::rb_cArray) => array_copy(protected, value, depth, left),
            Type::RUBY_T_HASH if is_bare(value, rb_sys::rb_cHash) => hash_copy(protected, value, depth, left),
            _ => None,
        }
    }
}

/// # Safety
/// An Array.
unsafe fn array_copy(protected: Protected<'_>, array: VALUE, depth: usize, left: &mut usize) -> Option<VALUE> {
    // SAFETY: the caller's promise.
    unsafe {
        let length = rb_sys::RARRAY_LEN(array) as usize;
        let copy = raising::rb_ary_new_capa(protected, length as _);
        for index in 0..length {
            raising::rb_ary_push(protected, copy, part_copy(protected, entry(protected, array, index), depth, left)?);
        }
        Some(copy)
    }
}

struct HashCopy<'p, 'c> {
    protected: Protected<'p>,
    copy: VALUE,
    depth: usize,
    left: &'c mut usize,
    is_plain: bool,
}

/// # Safety
/// A Hash.
unsafe fn hash_copy(protected: Protected<'_>, hash: VALUE, depth: usize, left: &mut usize) -> Option<VALUE> {
    unsafe extern "C" fn pair(key: VALUE, value: VALUE, copy: VALUE) -> c_int {
        // SAFETY: `copy` is the one below, used by nobody else during the walk.
        unsafe {
            let copy = &mut *(copy as *mut HashCopy<'_, '_>);
            let protected = copy.protected;
            let (key, value) =
                (part_copy(protected, key, copy.depth, copy.left), part_copy(protected, value, copy.depth, copy.left));
            let (Some(key), Some(value)) = (key, value) else {
                copy.is_plain = false;
                return rb_sys::st_retval::ST_STOP as c_int;
            };
            raising::rb_hash_aset(protected, copy.copy, key, value);
            rb_sys::st_retval::ST_CONTINUE as c_int
        }
    }

    // SAFETY: the caller's promise.
    unsafe {
        let names = NAMES.get_or_init(|| Names::intern(protected));
        let is_nil = |method| call(protected, hash, method, &[]) == rb_sys::Qnil as VALUE;
        let is_by_identity = call(protected, hash, names.is_by_identity, &[]) == rb_sys::Qtrue as VALUE;
        if is_by_identity || !is_nil(names.default) || !is_nil(names.default_proc) {
            return None;
        }
        let mut copy = HashCopy { protected, copy: raising::rb_hash_new(protected), depth, left, is_plain: true };
        raising::rb_hash_foreach(protected, hash, Some(pair), std::ptr::from_mut(&mut copy) as VALUE);
        copy.is_plain.then_some(copy.copy)
    }
}

/// The entity's copy of a call's arguments, an Array: the same Array if all of them are immutable.
pub(super) fn of_arguments(ruby: &Ruby, arguments: RArray) -> Result<Value, Error> {
    let given = arguments.as_raw();
    // SAFETY: an Array, which the caller's stack holds.
    let (count, argument) =
        unsafe { (rb_sys::RARRAY_LEN(given) as usize, |index: usize| rb_sys::RARRAY_AREF(given, index as _)) };
    // SAFETY: an Array's entries are live.
    if (0..count).all(|index| unsafe { is_fixed(argument(index)) }) {
        return Ok(arguments.as_value());
    }
    let index = Cell::new(0);
    let copied = protect(|protected| {
        // SAFETY: entries of a live Array.
        unsafe {
            let copies = raising::rb_ary_new_capa(protected, count as _);
            while index.get() < count {
                let given = argument(index.get());
                raising::rb_ary_push(protected, copies, like_keywords(protected, given, copied(protected, given)));
                index.set(index.get() + 1);
            }
            copies
        }
    });
    // SAFETY: Ruby has just returned it; an Array's entries are live.
    unsafe {
        match copied {
            Ok(copies) => Ok(Value::from_raw(copies)),
            Err(error) => {
                Err(refusal(ruby, &format!("argument {}", index.get() + 1), Value::from_raw(argument(index.get())), &error))
            }
        }
    }
}

/// Raises the exceptions of `of_arguments`, without keeping the copy.
pub(super) fn check_arguments(ruby: &Ruby, arguments: RArray) -> Result<(), Error> {
    of_arguments(ruby, arguments).map(|_| ())
}

/// The caller's copy of a call's result.
pub(super) fn of_result(ruby: &Ruby, result: Value) -> Result<Value, Error> {
    let given = result.as_raw();
    // SAFETY: the caller's stack holds it; protected.
    unsafe {
        if is_fixed(given) {
            return Ok(result);
        }
        protect(|protected| copied(protected, given))
            .map(|copy| Value::from_raw(copy))
            .map_err(|error| refusal(ruby, "its result", result, &error))
    }
}

/// Copies the mark on a Hash that says that it holds the keywords of a call.
///
/// # Safety
/// A live value.
unsafe fn like_keywords(protected: Protected<'_>, given: VALUE, copy: VALUE) -> VALUE {
    // SAFETY: the caller's promise.
    unsafe {
        if !rb_sys::RB_TYPE_P(given, Type::RUBY_T_HASH) {
            return copy;
        }
        let names = NAMES.get_or_init(|| Names::intern(protected));
        let is_keywords = call(protected, rb_sys::rb_cHash, names.is_keywords, &[given]) == rb_sys::Qtrue as VALUE;
        if is_keywords { call(protected, rb_sys::rb_cHash, names.keywords, &[copy]) } else { copy }
    }
}

/// The exception for a value that cannot be copied. The Ruby side adds the name of the method. An exception with another cause,
/// such as a cancellation, an interrupt, or one of a method of the value, stays unchanged.
fn refusal(ruby: &Ruby, what: &str, value: Value, error: &Error) -> Error {
    let refusing = [ruby.exception_type_error(), ruby.exception_arg_error(), ruby.exception_sys_stack_error()];
    if error.value().is_some() && !refusing.iter().any(|class| error.is_kind_of(*class)) {
        return error.clone();
    }
    let reason = error.value().and_then(|exception| exception.funcall::<_, _, String>("message", ()).ok());
    // SAFETY: the name is copied before Ruby runs again.
    let class = unsafe { value.classname() }.into_owned();
    let message = format!("{what} ({class}) cannot be copied: {}", reason.unwrap_or_else(|| error.to_string()));
    crate::ruby::errors::class(ruby, "Shards::NotCopied").new_instance((message,)).map_or_else(|failed| failed, Error::from)
}

/// # Safety
/// `value` is an object.
unsafe fn is_bare(value: VALUE, class: VALUE) -> bool {
    // SAFETY: every object begins with its `RBasic`.
    let basic = unsafe { &*(value as *const rb_sys::RBasic) };
    basic.klass == class && basic.flags & ruby_fl_type::RUBY_FL_EXIVAR as VALUE == 0
}

/// # Safety
/// `value` is an object.
unsafe fn has_flag(value: VALUE, flag: ruby_fl_type) -> bool {
    // SAFETY: every object begins with its `RBasic`.
    let basic = unsafe { &*(value as *const rb_sys::RBasic) };
    basic.flags & flag as VALUE != 0
}
