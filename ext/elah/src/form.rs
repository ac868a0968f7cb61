//! `Elah::Form`: query strings and urlencoded forms as nested Ruby Hashes.

use elah_core::form::{Bounds, FormError, Param, Params, Separators, parse};
use magnus::scan_args::{get_kwargs, scan_args};
use magnus::value::ReprValue;
use magnus::{Error, Module, Object, RHash, RModule, RString, Ruby, Value, function};

use crate::errors::class;
use crate::utf8;

/// `Elah::Form.parse(text, params_max:, depth_max:, semicolons: true)` → Hash. Raises `Elah::Form::ParseError`.
fn parse_form(ruby: &Ruby, arguments: &[Value]) -> Result<RHash, Error> {
    let arguments = scan_args::<(RString,), (), (), (), _, ()>(arguments)?;
    let options =
        get_kwargs::<_, (usize, usize), (Option<bool>,), ()>(arguments.keywords, &["params_max", "depth_max"], &["semicolons"])?;
    let (params_max, depth_max) = options.required;
    let separators = match options.optional.0 {
        Some(false) => Separators::Ampersand,
        _ => Separators::AmpersandAndSemicolon,
    };
    // SAFETY: no Ruby code runs while the text is read.
    let parsed = parse(unsafe { arguments.required.0.as_slice() }, separators, Bounds { params_max, depth_max });
    match parsed {
        Ok(params) => to_hash(ruby, params, &mut |text: String| text_value(&text)),
        Err(error) => Err(refused(ruby, "Form::ParseError", &error)),
    }
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

pub(crate) fn text_value(text: &str) -> Result<Value, Error> {
    utf8::new_string(text.as_bytes(), text.is_ascii()).map(|string| string.as_value())
}

pub(crate) fn refused(ruby: &Ruby, error_class: &str, error: &FormError) -> Error {
    Error::new(class(ruby, error_class), format!("The parameters cannot be read: {error}."))
}

pub(crate) fn init(elah: RModule) -> Result<(), Error> {
    let form = elah.define_module("Form")?;
    form.define_singleton_method("parse", function!(parse_form, -1))
}
