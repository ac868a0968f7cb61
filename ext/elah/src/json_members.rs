//! `Elah::JSON::Members`: a few texts out of a JSON object, without a Ruby object for anything else in it.

use std::borrow::Cow;

use magnus::rb_sys::AsRawValue;
use magnus::{Error, Module, Object, RArray, RModule, RString, Ruby, function, method};

use crate::json_scan::Scanner;
use crate::native_class;
use crate::utf8::{self, Text};

/// Of members, and of the names that lead to one.
const PATHS_MAX: usize = 64;

#[magnus::wrap(class = "Elah::JSON::Members", free_immediately, size)]
struct Members {
    /// The names that lead to each.
    paths: Vec<Vec<Box<str>>>,
}

type Texts<'t> = Vec<Option<Cow<'t, str>>>;

impl Members {
    fn open(ruby: &Ruby, paths: Vec<Vec<String>>) -> Result<Self, Error> {
        if paths.len() > PATHS_MAX || paths.iter().any(|path| path.is_empty() || path.len() > PATHS_MAX) {
            let sentence = format!("Up to {PATHS_MAX} members are wanted, each by its name or up to {PATHS_MAX} names.");
            return Err(Error::new(ruby.exception_arg_error(), sentence));
        }
        let paths = paths.into_iter().map(|path| path.into_iter().map(String::into_boxed_str).collect()).collect();
        Ok(Members { paths })
    }

    /// The texts, nil for each member that is none. Nil in all when the text has to be looked at more closely.
    fn read(ruby: &Ruby, rb_self: &Self, json: RString) -> Result<Option<RArray>, Error> {
        // SAFETY: the String is on this stack until the texts have been copied, and no Ruby code runs meanwhile.
        let Text::Utf8 { text, .. } = (unsafe { utf8::text(json.as_raw()) }) else { return Ok(None) };
        let Some(found) = rb_self.find(text) else { return Ok(None) };
        let texts = ruby.ary_new_capa(found.len());
        for text in found {
            texts.push(text.as_deref())?;
        }
        rb_sys::rb_gc_guard!(json.as_raw());
        Ok(Some(texts))
    }

    fn find<'t>(&self, text: &'t str) -> Option<Texts<'t>> {
        let mut scanner = Scanner::new(text);
        let mut found = vec![None; self.paths.len()];
        scanner.skip_blanks();
        self.look(&mut scanner, 0, !0, &mut found)?;
        scanner.end()?;
        Some(found)
    }

    /// Walks over an object to which `level` names have led, those of the paths that are `open`.
    fn look<'t>(&self, scanner: &mut Scanner<'t>, level: usize, open: u64, found: &mut Texts<'t>) -> Option<()> {
        scanner.members(|scanner, name| {
            let name = name.read()?;
            let (mut here, mut deeper) = (0_u64, 0_u64);
            for (index, path) in self.paths.iter().enumerate() {
                let bit = 1 << index;
                if open & bit == 0 || *path[level] != *name {
                    continue;
                }
                // Of a name that comes twice the last value stays.
                found[index] = None;
                *if path.len() == level + 1 { &mut here } else { &mut deeper } |= bit;
            }
            match scanner.peek()? {
                b'"' if here != 0 => {
                    let text = scanner.string()?.read()?;
                    let of_path = found.iter_mut().enumerate().filter(|(index, _)| here & 1 << index != 0);
                    of_path.for_each(|(_, found)| *found = Some(text.clone()));
                    Some(())
                }
                b'{' if deeper != 0 => self.look(scanner, level + 1, deeper, found),
                _ => scanner.value(level + 1),
            }
        })
    }

    fn paths(&self) -> Vec<Vec<String>> {
        self.paths.iter().map(|path| path.iter().map(|name| name.to_string()).collect()).collect()
    }
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let json = elah.define_module("JSON")?;
    let class = native_class::define::<Members>(ruby, json, "Members")?;
    class.define_singleton_method("open", function!(Members::open, 1))?;
    class.define_method("read", method!(Members::read, 1))?;
    class.define_method("paths", method!(Members::paths, 0))
}
