//! `Elah::JSON.pluck`: named members of a JSON object, without a Ruby object for anything else in it.

use elah_json::Cursor;
use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::value::ReprValue;
use magnus::{Error, Module, Object, RArray, RModule, RString, Ruby, TryConvert, Value, function};
use rb_sys::VALUE;

use crate::codecs::json_parser::{Builder, Built, DEPTH_MAX, Failure, Options, read};
use crate::ruby::raising;

/// The most paths, and the most names of one path.
const PATHS_MAX: usize = 64;
/// The values found, by the index of their path. They are on the stack, where Ruby's collector finds them.
type Found<'t> = [Option<Built<'t>>; PATHS_MAX];

/// `Elah::JSON.pluck(text, *paths)`: an Array with the value of each path, nil where there is none. A path is the name of a member, or
/// an Array of the names that lead to one through objects inside of objects; up to 64 paths. Of a repeated name the last value counts.
/// The whole text is checked as `parse` checks it.
///
/// Raises `Elah::JSON::ParseError`, `ArgumentError` for a wrong number of paths or names, `TypeError` for a name that is no String.
fn pluck(ruby: &Ruby, arguments: &[Value]) -> Result<Value, Error> {
    let Some((source, paths)) = arguments.split_first() else {
        return Err(Error::new(ruby.exception_arg_error(), "pluck needs a text and the members that are wanted."));
    };
    check(ruby, paths)?;
    read(ruby, RString::try_convert(*source)?, Options::default(), |builder, cursor| {
        let mut found = [const { None }; PATHS_MAX];
        if cursor.peek() == Some(b'{') {
            cursor.next()?;
            look(builder, cursor, paths, 0, !0, &mut found)?;
        } else {
            cursor.skip(DEPTH_MAX)?;
        }
        cursor.end()?;
        // SAFETY: all values are on the stack.
        builder.built(|protected| unsafe {
            let mut values = [rb_sys::Qnil as VALUE; PATHS_MAX];
            for (value, built) in values.iter_mut().zip(&found[..paths.len()]) {
                *value = built.as_ref().map_or(rb_sys::Qnil as VALUE, |built| built.raw(protected));
            }
            raising::rb_ary_new_from_values(protected, paths.len() as _, values.as_ptr())
        })
    })
}

fn check(ruby: &Ruby, paths: &[Value]) -> Result<(), Error> {
    let number_of_names = |path: &Value| RArray::from_value(*path).map_or(1, |names| names.len());
    if paths.is_empty()
        || paths.len() > PATHS_MAX
        || paths.iter().map(number_of_names).any(|names| names == 0 || names > PATHS_MAX)
    {
        let sentence = format!("pluck needs 1 to {PATHS_MAX} members, each by its name or by 1 to {PATHS_MAX} names.");
        return Err(Error::new(ruby.exception_arg_error(), sentence));
    }
    for path in paths {
        for level in 0..number_of_names(path) {
            if name_at(*path, level).is_none() {
                return Err(Error::new(
                    ruby.exception_type_error(),
                    format!("Names of members are Strings, not {}.", path.inspect()),
                ));
            }
        }
    }
    Ok(())
}

/// The name at `level` of a path, if it is a String. Looked up for each use, because the collector may move it.
fn name_at(path: Value, level: usize) -> Option<RString> {
    match RArray::from_value(path) {
        None => RString::from_value(path).filter(|_| level == 0),
        // SAFETY: reads an element of an Array within its bounds.
        Some(names) => (level < names.len())
            .then(|| unsafe { Value::from_raw(rb_sys::RARRAY_AREF(names.as_raw(), level as _)) })
            .and_then(RString::from_value),
    }
}

/// Reads the rest of an object to which the first `level` names of the `open` paths lead.
fn look<'t>(
    builder: &Builder<'_>,
    cursor: &mut Cursor<'t>,
    paths: &[Value],
    level: usize,
    open: u64,
    found: &mut Found<'t>,
) -> Result<(), Failure> {
    while let Some(name) = cursor.member()? {
        let name = name.read();
        let (mut here, mut deeper) = (0_u64, 0_u64);
        for (index, path) in paths.iter().enumerate() {
            let bit = 1 << index;
            // SAFETY: Ruby does not run while the name is borrowed.
            let is_named = |wanted: RString| unsafe { wanted.as_slice() } == name.as_bytes();
            if open & bit == 0 || !name_at(*path, level).is_some_and(is_named) {
                continue;
            }
            found[index] = None;
            let is_last = name_at(*path, level + 1).is_none();
            *if is_last { &mut here } else { &mut deeper } |= bit;
        }
        if deeper != 0 && cursor.peek() == Some(b'{') {
            let mut inside = *cursor;
            inside.next()?;
            look(builder, &mut inside, paths, level + 1, deeper, found)?;
            if here == 0 {
                *cursor = inside;
                continue;
            }
        }
        if here == 0 {
            cursor.skip(DEPTH_MAX - level - 1)?;
            continue;
        }
        let built = builder.value(cursor, level + 1)?;
        while here & (here - 1) != 0 {
            found[here.trailing_zeros() as usize] = Some(built.clone());
            here &= here - 1;
        }
        found[here.trailing_zeros() as usize] = Some(built);
    }
    Ok(())
}

pub(crate) fn init(elah: RModule) -> Result<(), Error> {
    elah.define_module("JSON")?.define_singleton_method("pluck", function!(pluck, -1))
}
