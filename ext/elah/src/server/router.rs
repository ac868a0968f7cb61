//! `Elah::Router`: the core's router as a Ruby object, for the boot, for `elah routes` and for other servers.

use std::cell::RefCell;
use std::sync::Arc;

use elah_http::router::{Requirements, Resolution, Router};
use magnus::r_hash::ForEach;
use magnus::{
    Error, Module, Object, RArray, RHash, RModule, RRegexp, RString, Ruby, Symbol, Value, function, method, prelude::*,
    rb_sys::AsRawValue, scan_args::scan_args,
};

use crate::ruby::errors::{catching, class};
use crate::ruby::native_class;
use crate::ruby::utf8;

/// Ruby's `Regexp::IGNORECASE`, `EXTENDED` and `MULTILINE`, with the equivalent letters of the core's syntax.
const REGEXP_FLAGS: [(u32, char); 3] = [(1, 'i'), (2, 'x'), (4, 's')];

#[magnus::wrap(class = "Elah::Router", free_immediately, size)]
pub(crate) struct RubyRouter {
    router: RefCell<Arc<Router>>,
}

impl RubyRouter {
    fn new() -> Self {
        Self { router: RefCell::new(Arc::new(Router::new())) }
    }

    /// The current routes; later additions do not change the returned value.
    pub(crate) fn snapshot(&self) -> Arc<Router> {
        Arc::clone(&self.router.borrow())
    }

    /// `add(method, pattern, id, requirements = {})`: `method` is "*" for any, requirements are name => Regexp.
    fn add(ruby: &Ruby, router: &Self, arguments: &[Value]) -> Result<(), Error> {
        let arguments = scan_args::<(String, String, u32), (Option<RHash>,), (), (), (), ()>(arguments)?;
        let (method, pattern, id) = arguments.required;
        let requirements = match arguments.optional.0 {
            Some(hash) => requirements(ruby, hash)?,
            None => Requirements::new(),
        };
        let added = Arc::make_mut(&mut router.router.borrow_mut()).add(&method, &pattern, id, &requirements);
        added.map_err(|error| Error::new(ruby.exception_arg_error(), error.to_string()))
    }

    /// `mount(prefix, id)`: serves the prefix and every path below it, with any method.
    fn mount(ruby: &Ruby, router: &Self, prefix: String, id: u32) -> Result<(), Error> {
        let mounted = Arc::make_mut(&mut router.router.borrow_mut()).mount(&prefix, id);
        mounted.map_err(|error| Error::new(ruby.exception_arg_error(), error.to_string()))
    }

    /// `match(method, path, excluded = [])` → `[id, params]`, for a mount `[id, params, path_info]`; `[nil, methods]` if the path
    /// has no route for the method; `nil` if it has no route. Routes with the IDs `excluded` are passed over. Raises
    /// `Elah::Router::BadPath`.
    fn find(ruby: &Ruby, router: &Self, arguments: &[Value]) -> Result<Option<RArray>, Error> {
        let arguments = scan_args::<(RString, RString), (Option<Vec<u32>>,), (), (), (), ()>(arguments)?;
        let (method, path) = arguments.required;
        let excluded = arguments.optional.0.unwrap_or_default();
        let router = router.snapshot();
        // SAFETY: nothing below runs Ruby code that could change the strings, and the path is guarded below: the result of a
        // `to_str` has no other reference.
        let texts = unsafe { (std::str::from_utf8(method.as_slice()), std::str::from_utf8(path.as_slice())) };
        let (Ok(method), Ok(path_text)) = texts else {
            return Err(Error::new(class(ruby, "Router::BadPath"), "The method or the path is not valid UTF-8."));
        };
        let found = catching(ruby, || resolve(ruby, &router, &excluded, method, path_text));
        rb_sys::rb_gc_guard!(path.as_raw());
        found
    }
}

fn resolve(ruby: &Ruby, router: &Router, excluded: &[u32], method: &str, path: &str) -> Result<Option<RArray>, Error> {
    match router.resolve_except(excluded, method, path) {
        Resolution::NotFound => Ok(None),
        Resolution::BadPath(error) => {
            Err(Error::new(class(ruby, "Router::BadPath"), format!("A parameter of the path cannot be read: {error}.")))
        }
        Resolution::MethodNotAllowed(methods) => {
            let result = ruby.ary_new_capa(2);
            result.push(ruby.qnil())?;
            result.push(ruby.ary_from_iter(methods))?;
            Ok(Some(result))
        }
        Resolution::Route(found) => {
            let params = ruby.hash_new();
            for (name, value) in found.params(router, path) {
                params.aset(utf8::interned(name)?, utf8::new_string(value.as_bytes(), value.is_ascii())?)?;
            }
            let result = ruby.ary_new_capa(3);
            result.push(found.id)?;
            result.push(params)?;
            if let Some(at) = found.path_info_at {
                result.push(ruby.str_new(&path[at..]))?;
            }
            Ok(Some(result))
        }
    }
}

fn requirements(ruby: &Ruby, hash: RHash) -> Result<Requirements, Error> {
    let mut requirements = Requirements::new();
    hash.foreach(|name: Value, requirement: Value| {
        let name = match Symbol::from_value(name) {
            Some(symbol) => symbol.name()?.into_owned(),
            None => String::try_convert(name)?,
        };
        let source = match RRegexp::from_value(requirement) {
            Some(regexp) => source(regexp)?,
            None => {
                let message = format!("the requirement of {name:?} must be a Regexp, not {}", requirement.class());
                return Err(Error::new(ruby.exception_type_error(), message));
            }
        };
        requirements.insert(name, source);
        Ok(ForEach::Continue)
    })?;
    Ok(requirements)
}

fn source(regexp: RRegexp) -> Result<String, Error> {
    let source: String = regexp.funcall("source", ())?;
    let options: u32 = regexp.funcall("options", ())?;
    let flags: String = REGEXP_FLAGS.iter().filter(|(bit, _)| options & bit != 0).map(|(_, letter)| letter).collect();
    Ok(if flags.is_empty() { source } else { format!("(?{flags}:{source})") })
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<RubyRouter>(ruby, elah, "Router")?;
    class.define_singleton_method("new", function!(RubyRouter::new, 0))?;
    class.define_method("add", method!(RubyRouter::add, -1))?;
    class.define_method("mount", method!(RubyRouter::mount, 2))?;
    class.define_method("match", method!(RubyRouter::find, -1))?;
    Ok(())
}
