//! `Elah::Multipart`: multipart bodies as Rack's Hashes: texts as Strings, files as Hashes with a Tempfile.

use std::fmt::Display;

use elah_form::form::Params;
use elah_form::multipart::{PartBounds, PartHead, PartReader};
use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::scan_args::{get_kwargs, scan_args};
use magnus::value::ReprValue;
use magnus::{Error, Module, Object, RArray, RClass, RHash, RModule, RString, Ruby, TryConvert, Value, function};

use crate::codecs::form::{BOUNDS, to_hash};
use crate::ruby::errors::{catching, class};
use crate::ruby::raising::{self, protect};
use crate::ruby::utf8;

/// The default limits, those of Rack.
const PART_BOUNDS: PartBounds = PartBounds { parts_max: 4096, files_max: 128 };
/// A file's extension is kept in the name of its Tempfile up to this length. A name of a file has at most 255 bytes.
const EXTENSION_BYTES_MAX: usize = 129;

/// `Elah::Multipart.parse(body, content_type, parts_max: 4096, files_max: 128, depth_max: 32)` → Hash. Yields each Tempfile at the end.
/// Raises `Elah::Multipart::ParseError`.
fn parse(ruby: &Ruby, arguments: &[Value]) -> Result<RHash, Error> {
    let arguments = scan_args::<(RString, Option<RString>), (), (), (), _, ()>(arguments)?;
    let options = get_kwargs::<_, (), (Option<usize>, Option<usize>, Option<usize>), ()>(
        arguments.keywords,
        &[],
        &["parts_max", "files_max", "depth_max"],
    )?;
    let (parts_max, files_max, depth_max) = options.optional;
    let bounds = PartBounds {
        parts_max: parts_max.unwrap_or(PART_BOUNDS.parts_max),
        files_max: files_max.unwrap_or(PART_BOUNDS.files_max),
    };
    let (body, content_type) = arguments.required;
    if body.is_empty() {
        return Ok(ruby.hash_new());
    }
    // Writing files runs Ruby code, which may change the caller's String. This one shares its bytes and is frozen.
    let body = protect(|protected| unsafe { raising::rb_str_new_frozen(protected, body.as_raw()) })?;
    let body = RString::try_convert(unsafe { Value::from_raw(body) })?;
    let mut reading = Reading { ruby, values: ruby.ary_new(), files: ruby.ary_new(), params: Params::default() };
    // SAFETY: `body` is frozen and guarded below; the content type is read before any Ruby code runs.
    let reader = unsafe {
        let content_type = content_type.as_ref().map_or(&[][..], |content_type| content_type.as_slice());
        PartReader::new(body.as_slice(), content_type, bounds)
    };
    let depth_max = depth_max.unwrap_or(BOUNDS.depth_max);
    let reader = reader.map_err(|error| refused(ruby, &error))?;
    let read = catching(ruby, || reading.read(reader, depth_max));
    // It has no other reference if the caller's String has changed.
    rb_sys::rb_gc_guard!(body.as_raw());
    if let Err(error) = read {
        reading.discard_files()?;
        return Err(error);
    }
    let Reading { params, values, files, .. } = reading;
    if ruby.block_given() {
        for index in 0..files.len() {
            ruby.yield_value::<_, Value>(files.entry::<Value>(index as isize)?)?;
        }
    }
    to_hash(ruby, params, &mut |index: usize| values.entry(index as isize))
}

/// The parts read so far. Ruby's collector finds their values through the Arrays.
struct Reading<'r> {
    ruby: &'r Ruby,
    values: RArray,
    files: RArray,
    /// The place of each value: names → indexes of `values`.
    params: Params<usize>,
}

impl Reading<'_> {
    fn read(&mut self, mut reader: PartReader<'_>, depth_max: usize) -> Result<(), Error> {
        while let Some(head) = reader.next_part().map_err(|error| refused(self.ruby, &error))? {
            let value = match &head.filename {
                // A file field without a chosen file.
                Some(filename) if filename.is_empty() => continue,
                Some(filename) => self.file(&mut reader, &head, filename)?,
                None => self.text(&mut reader, &head)?,
            };
            let inserted = self.params.insert(&head.name, Some(self.values.len()), depth_max);
            inserted.map_err(|error| refused(self.ruby, &error))?;
            self.values.push(value)?;
        }
        Ok(())
    }

    fn text(&self, reader: &mut PartReader<'_>, head: &PartHead) -> Result<Value, Error> {
        let mut content = Vec::new();
        while let Some(chunk) = reader.next_chunk().map_err(|error| refused(self.ruby, &error))? {
            content.extend_from_slice(&chunk);
        }
        let is_utf8 = |charset: &String| ["utf-8", "utf8"].iter().any(|name| charset.eq_ignore_ascii_case(name));
        if let Some(charset) = head.charset().filter(|charset| !is_utf8(charset)) {
            return self.in_charset(&content, &charset, head);
        }
        let is_text = head.content_type.as_ref().is_none_or(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/"));
        match std::str::from_utf8(&content) {
            Ok(text) => utf8::new_string(text.as_bytes(), text.is_ascii()).map(|text| text.as_value()),
            Err(_) if is_text => Err(refused(self.ruby, &format!("the part {:?} is not valid UTF-8", head.name))),
            Err(_) => Ok(self.ruby.str_from_slice(&content).as_value()),
        }
    }

    fn in_charset(&self, content: &[u8], charset: &str, head: &PartHead) -> Result<Value, Error> {
        let ruby = self.ruby;
        let text: Value = ruby.str_from_slice(content).funcall("force_encoding", (charset,)).map_err(|error| {
            if error.is_kind_of(ruby.exception_arg_error()) {
                return refused(ruby, &format!("the charset {charset:?} of the part {:?} is not known", head.name));
            }
            error
        })?;
        let invalid = || refused(ruby, &format!("the part {:?} is not valid in its charset, {charset:?}", head.name));
        let text: Value = text
            .funcall("encode", (ruby.utf8_encoding(),))
            .map_err(|error| if error.is_kind_of(ruby.exception_encoding_error()) { invalid() } else { error })?;
        // Some charsets are other names of UTF-8 for Ruby, such as CP65001: `encode` checks nothing then.
        if text.funcall("valid_encoding?", ())? { Ok(text) } else { Err(invalid()) }
    }

    fn file(&self, reader: &mut PartReader<'_>, head: &PartHead, filename: &str) -> Result<Value, Error> {
        let ruby = self.ruby;
        let tempfile = self.tempfile(filename)?;
        while let Some(chunk) = reader.next_chunk().map_err(|error| refused(ruby, &error))? {
            tempfile.funcall::<_, _, Value>("write", (ruby.str_from_slice(&chunk),))?;
        }
        tempfile.funcall::<_, _, Value>("rewind", ())?;
        let file = ruby.hash_new();
        file.aset(ruby.to_symbol("filename"), filename)?;
        file.aset(ruby.to_symbol("type"), head.content_type.as_deref())?;
        file.aset(ruby.to_symbol("name"), head.name.as_str())?;
        file.aset(ruby.to_symbol("tempfile"), tempfile)?;
        // Text, like the name and the type: bytes that are not UTF-8 are replaced.
        file.aset(ruby.to_symbol("head"), String::from_utf8_lossy(&head.text).as_ref())?;
        Ok(file.as_value())
    }

    fn tempfile(&self, filename: &str) -> Result<Value, Error> {
        let ruby = self.ruby;
        ruby.require("tempfile")?;
        let tempfile_class: RClass = ruby.class_object().const_get("Tempfile")?;
        let extension = match filename.rfind('.') {
            Some(at) if at > 0 => up_to(&filename[at..], EXTENSION_BYTES_MAX),
            _ => "",
        };
        let name = ruby.ary_new_from_values(&[ruby.str_new("elah"), ruby.str_new(extension)]);
        let tempfile: Value = tempfile_class.funcall("new", (name,))?;
        self.files.push(tempfile)?;
        tempfile.funcall::<_, _, Value>("binmode", ())?;
        Ok(tempfile)
    }

    /// Removes the files of a refused body. A file that cannot be removed now is removed with its object.
    fn discard_files(&self) -> Result<(), Error> {
        for index in 0..self.files.len() {
            let file: Value = self.files.entry(index as isize)?;
            match file.funcall::<_, _, Value>("close!", ()) {
                Err(error) if !error.is_kind_of(self.ruby.exception_standard_error()) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The beginning of a text in this many bytes, without a partial character.
fn up_to(text: &str, bytes_max: usize) -> &str {
    let end = (0..=bytes_max.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

fn refused(ruby: &Ruby, error: &dyn Display) -> Error {
    Error::new(class(ruby, "Multipart::ParseError"), format!("The parts cannot be read: {error}."))
}

pub(crate) fn init(elah: RModule) -> Result<(), Error> {
    let multipart = elah.define_module("Multipart")?;
    multipart.define_singleton_method("parse", function!(parse, -1))
}
