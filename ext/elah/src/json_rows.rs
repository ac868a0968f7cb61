//! `Elah::JSON::Rows`: the list of objects of a bulk request, of which one member is read and one is echoed, and the answer with an
//! object for each. In between a row is no Ruby object but its text.

mod beginnings;
mod column;
mod plain;
mod reader;

use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::value::ReprValue;
use magnus::{Error, Module, Object, RArray, RModule, RString, Ruby, Value, function, method};

use crate::errors::{catching, class};
use crate::native_class;
use crate::receiver::Receiver;
use crate::shards::call_columns::CallColumns;
use crate::utf8::{self, Text};
use beginnings::Beginnings;
use column::Column;
use elah_core::json_text::write_string;
use reader::{Found, Wanted};

#[magnus::wrap(class = "Elah::JSON::Rows", free_immediately, size)]
pub(crate) struct Rows {
    texts: Column,
    /// Values as they were written.
    echoes: Column,
    /// What a value is echoed as: a name in quotes and a colon.
    echo_name: Vec<u8>,
}

impl Rows {
    /// The first list that has one of these names; nil when there is none.
    fn read(ruby: &Ruby, source: RString, lists: Vec<String>, member: String, echo: String) -> Result<Option<Rows>, Error> {
        let mut source = source;
        let text = loop {
            // SAFETY: `source` stays on this stack, and no Ruby code runs while the text is read.
            match unsafe { utf8::text(source.as_raw()) } {
                Text::Utf8 { text, .. } => break text,
                Text::Foreign => source = converted(ruby, source)?,
                Text::Broken => return Err(unreadable(ruby, "is not valid UTF-8")),
            }
        };
        let found = catching(ruby, || {
            let wanted = Wanted { lists: &lists, member: &member, echo: &echo };
            reader::read(text, wanted).map_err(|error| unreadable(ruby, &format!("is not JSON: {error}")))
        })?;
        let mut echo_name = Vec::new();
        write_string(&mut echo_name, &echo);
        echo_name.push(b':');
        Ok(found.map(|Found { texts, echoes }| Rows { texts, echoes, echo_name }))
    }

    fn size(&self) -> usize {
        self.texts.len()
    }

    /// The number in digits that the text of a row begins with; nil when there is none, or one of more than 18 digits.
    fn number(rows: Receiver<Self>, row: usize) -> Option<u64> {
        number_in_front(rows.texts.get(row)?)
    }

    /// Adds a call for each row from `row` on that begins as `beginnings` say, with what follows as its last text. Ends at the first row
    /// that does not, or of which nothing or more than `bytes_max` follows, and gives that one.
    fn add_calls(rows: Receiver<Self>, row: usize, beginnings: &Beginnings, calls: &CallColumns, bytes_max: usize) -> usize {
        let is_added = |row: &usize| {
            let text = rows.texts.get(*row)?;
            let (key, rest) = beginnings.find(number_in_front(text)?, text)?;
            // SAFETY: `beginnings` has keys that are frozen and of such a length, and both are text, so what follows is.
            ((1..=bytes_max).contains(&rest.len()) && unsafe { calls.push_plain(key, rest) }).then_some(())
        };
        (row..rows.size()).find(|row| is_added(row).is_none()).unwrap_or(rows.size())
    }

    /// What follows `beginning` in the text of a row; nil when nothing does, or it does not begin so.
    fn rest(rows: Receiver<Self>, row: usize, beginning: RString) -> Result<Value, Error> {
        // SAFETY: `beginning` is on this stack, and no Ruby code runs while it is compared.
        let rest = rows.texts.get(row).and_then(|text| text.strip_prefix(unsafe { beginning.as_slice() }));
        // A beginning in another encoding may end inside a character.
        string(rest.filter(|rest| rest.first().is_some_and(|first| !CONTINUATIONS.contains(first))))
    }

    /// The text of a row; nil when it has none.
    fn text(rows: Receiver<Self>, row: usize) -> Result<Value, Error> {
        string(rows.texts.get(row))
    }

    /// `{"NAME":[{ECHO,MEMBERS},...]}`, with the members of each row as JSON.
    fn answer(ruby: &Ruby, rows: Receiver<Self>, name: RString, members: RArray) -> Result<RString, Error> {
        if members.len() != rows.size() {
            let message = format!("There are {} rows, and members of {}.", rows.size(), members.len());
            return Err(Error::new(ruby.exception_arg_error(), message));
        }
        let mut answer = Answer { ruby, out: b"{".to_vec(), is_ascii: true };
        answer.push_name(name)?;
        answer.out.reserve(members.len() * USUAL_ROW_BYTES);
        for (row, echo) in rows.echoes.iter().enumerate() {
            let mut own = members.entry::<Value>(row as isize)?;
            if ruby.block_given() && RString::from_value(own).is_none() {
                own = ruby.yield_values((own, row))?;
            }
            answer.push_row(&rows.echo_name, echo, own)?;
        }
        if answer.out.last() == Some(&b',') {
            answer.out.pop();
        }
        answer.out.extend_from_slice(b"]}");
        utf8::new_string(&answer.out, answer.is_ascii)
    }
}

/// The bytes of a character but its first.
const CONTINUATIONS: std::ops::Range<u8> = 0x80..0xC0;
/// Of a number that a text begins with.
const NUMBER_DIGITS_MAX: usize = 18;
/// Most rows of an answer are no longer.
const USUAL_ROW_BYTES: usize = 256;

struct Answer<'r> {
    ruby: &'r Ruby,
    out: Vec<u8>,
    is_ascii: bool,
}

impl Answer<'_> {
    fn push_name(&mut self, name: RString) -> Result<(), Error> {
        let name = self.text(name.as_value())?;
        write_string(&mut self.out, name);
        self.out.extend_from_slice(b":[");
        Ok(())
    }

    fn push_row(&mut self, echo_name: &[u8], echo: Option<&[u8]>, members: Value) -> Result<(), Error> {
        self.out.push(b'{');
        if let Some(echo) = echo {
            self.is_ascii &= echo.is_ascii();
            self.out.extend_from_slice(echo_name);
            self.out.extend_from_slice(echo);
            self.out.push(b',');
        }
        let members = self.text(members)?;
        self.out.extend_from_slice(members.as_bytes());
        if members.is_empty() && echo.is_some() {
            self.out.pop();
        }
        self.out.extend_from_slice(b"},");
        Ok(())
    }

    /// The text of a String in UTF-8, which is copied before Ruby runs again.
    fn text<'s>(&mut self, value: Value) -> Result<&'s str, Error> {
        let Some(string) = RString::from_value(value) else {
            let message = format!("The members of a row are a String, not {}.", value.class());
            return Err(Error::new(self.ruby.exception_type_error(), message));
        };
        // SAFETY: `string` is an argument of the method or in its Array, and the text is copied before Ruby runs again.
        match unsafe { utf8::text(string.as_raw()) } {
            Text::Utf8 { text, is_ascii } => {
                self.is_ascii &= is_ascii;
                Ok(text)
            }
            Text::Foreign | Text::Broken => {
                let message = "The members of a row are not valid UTF-8.";
                Err(Error::new(class(self.ruby, "JSON::GenerateError"), message))
            }
        }
    }
}

fn number_in_front(text: &[u8]) -> Option<u64> {
    let digits = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let is_one = (1..=NUMBER_DIGITS_MAX).contains(&digits);
    is_one.then(|| text[..digits].iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

/// A String of valid UTF-8, or nil.
fn string(text: Option<&[u8]>) -> Result<Value, Error> {
    // SAFETY: protected, with nothing to drop.
    let string = protect(|| text.map_or(rb_sys::Qnil as _, |text| unsafe { utf8::raw_string(text, text.is_ascii()) }))?;
    // SAFETY: Ruby returned it.
    Ok(unsafe { Value::from_raw(string) })
}

fn converted(ruby: &Ruby, source: RString) -> Result<RString, Error> {
    let converted = utf8::converted(source.as_raw()).map(RString::from_value);
    converted.ok().flatten().ok_or_else(|| unreadable(ruby, "cannot be converted to UTF-8"))
}

fn unreadable(ruby: &Ruby, what: &str) -> Error {
    Error::new(class(ruby, "JSON::ParseError"), format!("The text {what}."))
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let json = elah.define_module("JSON")?;
    let class = native_class::define::<Rows>(ruby, json, "Rows")?;
    class.define_singleton_method("read_native", function!(Rows::read, 4))?;
    class.define_method("size", method!(Rows::size, 0))?;
    class.define_method("text", method!(Rows::text, 1))?;
    class.define_method("number", method!(Rows::number, 1))?;
    class.define_method("rest", method!(Rows::rest, 2))?;
    class.define_method("add_calls", method!(Rows::add_calls, 4))?;
    class.define_method("answer", method!(Rows::answer, 2))?;
    beginnings::init(ruby, class)
}
