//! `Elah::Form`: query strings and urlencoded forms as nested Ruby Hashes.

use elah_form::form::{Bounds, Param, Params, Separators, parse};
use magnus::scan_args::{get_kwargs, scan_args};
use magnus::value::ReprValue;
use magnus::{Error, Module, Object, RHash, RModule, RString, Ruby, TryConvert, Value, function};

use crate::ruby::errors::{catching, class};
use crate::ruby::utf8;

/// The default limits: Rack's number of parameters, and names of 32 levels.
pub(crate) const BOUNDS: Bounds = Bounds { params_max: 4096, depth_max: 32 };

/// `Elah::Form.parse(text, params_max: 4096, depth_max: 32, semicolons: true)` → Hash. Raises `Elah::Form::ParseError`.
fn parse_form(ruby: &Ruby, arguments: &[Value]) -> Result<RHash, Error> {
    let (text, bounds, has_semicolons) = match arguments {
        [text] => (RString::try_convert(*text)?, BOUNDS, true),
        _ => with_options(arguments)?,
    };
    let separators = if has_semicolons { Separators::AmpersandAndSemicolon } else { Separators::Ampersand };
    catching(ruby, || {
        // SAFETY: no Ruby code runs while the text is read.
        match parse(unsafe { text.as_slice() }, separators, bounds) {
            Ok(params) => to_hash(ruby, params, &mut |text: String| text_value(&text)),
            Err(error) => Err(Error::new(class(ruby, "Form::ParseError"), format!("The parameters cannot be read: {error}."))),
        }
    })
}

fn with_options(arguments: &[Value]) -> Result<(RString, Bounds, bool), Error> {
    let arguments = scan_args::<(RString,), (), (), (), _, ()>(arguments)?;
    let options = get_kwargs::<_, (), (Option<usize>, Option<usize>, Option<bool>), ()>(
        arguments.keywords,
        &[],
        &["params_max", "depth_max", "semicolons"],
    )?;
    let (params_max, depth_max, semicolons) = options.optional;
    let bounds = Bounds { params_max: params_max.unwrap_or(BOUNDS.params_max), depth_max: depth_max.unwrap_or(BOUNDS.depth_max) };
    Ok((arguments.required.0, bounds, semicolons.unwrap_or(true)))
}

/// A Hash of `params`, whose values `to_value` makes.
pub(crate) fn to_hash<V>(
    ruby: &Ruby,
    params: Params<V>,
    to_value: &mut dyn FnMut(V) -> Result<Value, Error>,
) -> Result<RHash, Error> {
    let hash = ruby.hash_new();
    for (name, param) in params {
        let name = utf8::interned(&name)?;
        hash.aset(name, param_value(ruby, param, to_value)?)?;
    }
    Ok(hash)
}

fn param_value<V>(ruby: &Ruby, param: Param<V>, to_value: &mut dyn FnMut(V) -> Result<Value, Error>) -> Result<Value, Error> {
    match param {
        Param::Value(None) => Ok(ruby.qnil().as_value()),
        Param::Value(Some(value)) => to_value(value),
        Param::Map(map) => to_hash(ruby, map, to_value).map(|hash| hash.as_value()),
        Param::List(list) => {
            let array = ruby.ary_new_capa(list.len());
            for param in list {
                array.push(param_value(ruby, param, to_value)?)?;
            }
            Ok(array.as_value())
        }
    }
}

fn text_value(text: &str) -> Result<Value, Error> {
    utf8::new_string(text.as_bytes(), text.is_ascii()).map(|string| string.as_value())
}

pub(crate) fn init(elah: RModule) -> Result<(), Error> {
    let form = elah.define_module("Form")?;
    form.define_singleton_method("parse", function!(parse_form, -1))
}
