//! The cursor accepts and refuses the same texts as serde_json, with the same values.

use elah_json::{Cursor, Fault, Number, Reason, Token, place};
use serde_json::Value;

/// More levels than any text of these tests has.
const LEVELS: usize = 1000;

fn value(cursor: &mut Cursor<'_>) -> Result<Value, Fault> {
    Ok(match cursor.next()? {
        Token::Null => Value::Null,
        Token::Bool(value) => Value::Bool(value),
        Token::Number(number) => Value::from(as_serde_reads_it(number)),
        Token::Text(text) => Value::String(text.read().into_owned()),
        Token::Array => {
            let mut elements = Vec::new();
            while cursor.element()? {
                elements.push(value(cursor)?);
            }
            Value::Array(elements)
        }
        Token::Object => {
            let mut members = serde_json::Map::new();
            while let Some(name) = cursor.member()? {
                members.insert(name.read().into_owned(), value(cursor)?);
            }
            Value::Object(members)
        }
    })
}

/// serde_json reads an integer beyond 64 bits, and -0, as a float.
fn as_serde_reads_it(number: Number<'_>) -> serde_json::Number {
    let unsigned = || number.text().parse::<u64>().ok().filter(|_| number.is_integer());
    match number.integer() {
        Some(integer) if integer != 0 || !number.text().starts_with('-') => integer.into(),
        _ => unsigned().map_or_else(|| serde_json::Number::from_f64(number.float()).expect("finite"), Into::into),
    }
}

fn read(text: &str) -> Result<Value, Fault> {
    let mut cursor = Cursor::new(text);
    let value = value(&mut cursor)?;
    cursor.end()?;
    Ok(value)
}

fn skipped(text: &str) -> Result<(), Fault> {
    let mut cursor = Cursor::new(text);
    cursor.skip(LEVELS)?;
    cursor.end()
}

fn assert_as_serde(text: &str) {
    let expected = serde_json::from_str::<Value>(text);
    let found = read(text);
    match (&expected, &found) {
        (Ok(expected), Ok(found)) => assert_eq!(expected, found, "{text:?}"),
        (Err(_), Err(_)) => {}
        _ => panic!("{text:?}: {expected:?}, {found:?}"),
    }
    assert_eq!(skipped(text), found.map(drop), "{text:?}");
}

const SAMPLES: [&str; 7] = [
    r#"{"a":[1,-2.5e3,"x\u00e9\n",true,false,null,{"b":{}}],"c\u00e9":"d","i":[99999999999999999999]}"#,
    r#" [ 0 , -0 , 1e22 , 18446744073709551615, 18446744073709551616, -9223372036854775808, 0.1e-7 ] "#,
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\ud83d\\ude00 plain text of some length \u{e9}\u{20ac}\"",
    "{\n\t\"name\" : \"value\",\r\n \"name\" : [[[[]]],{}]}",
    "123456789012345678",
    "[1e308,1.7976931348623157e308,5e-324]",
    "null",
];

#[test]
fn samples_and_their_beginnings_are_read_as_serde_reads_them() {
    for text in SAMPLES {
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            assert_as_serde(&text[..end]);
        }
    }
}

#[test]
fn what_is_not_json_is_refused() {
    for text in [
        "",
        " ",
        "nul",
        "nulll",
        "True",
        "NaN",
        "-",
        "+1",
        "01",
        "-01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\" 1}",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\t\"",
        "'a'",
        "[1]x",
        "1e400",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "\u{feff}[1]",
        "[}",
        "{]",
    ] {
        assert!(read(text).is_err(), "{text:?}");
        assert_as_serde(text);
    }
    let digits = "9".repeat(400);
    assert_eq!(read(&digits).expect_err("too large").reason, Reason::NumberOutOfRange);
}

#[test]
fn strings_are_found_at_every_length_and_place() {
    for length in 0..40 {
        let plain = "x".repeat(length);
        assert_eq!(read(&format!("\"{plain}\"")), Ok(Value::String(plain.clone())));
        for at in 0..length {
            let mut text = plain.clone();
            text.replace_range(at..=at, "\\n");
            assert_eq!(read(&format!("\"{text}\"")), Ok(Value::String(text.replace("\\n", "\n"))));
            text.replace_range(at..=at + 1, "\u{1f}");
            assert_eq!(read(&format!("\"{text}\"")), Err(Fault { reason: Reason::ControlCharacter, at: at + 1 }));
        }
    }
}

#[test]
fn a_fault_says_where_and_why() {
    for (text, reason, line_and_column) in [
        ("[1,\n  x]", Reason::ExpectedValue, (2, 3)),
        ("[1", Reason::EndInArray, (1, 2)),
        ("[1] 2", Reason::TrailingCharacters, (1, 5)),
        ("", Reason::EndInValue, (1, 0)),
        ("{1:2}", Reason::ExpectedName, (1, 2)),
        ("{\"a\"}", Reason::ExpectedColon, (1, 5)),
        ("\"a", Reason::EndInString, (1, 2)),
    ] {
        let fault = read(text).expect_err(text);
        assert_eq!(fault.reason, reason, "{text:?}");
        assert_eq!(place(text, fault.at), line_and_column, "{text:?}");
    }
}

#[test]
fn levels_are_bounded_where_a_value_is_skipped() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(Cursor::new(&nested(5)).skip(5), Ok(()));
    assert_eq!(Cursor::new(&nested(6)).skip(5), Err(Fault { reason: Reason::TooDeep, at: 6 }));
    assert_eq!(Cursor::new("{\"a\":{}}").skip(1).map_err(|fault| fault.reason), Err(Reason::TooDeep));
    assert_eq!(Cursor::new("1").skip(0), Ok(()));
}

#[test]
fn integers_are_read_to_the_ends_of_64_bits() {
    for (text, integer) in [
        ("0", Some(0)),
        ("-0", Some(0)),
        ("-12", Some(-12)),
        ("9223372036854775807", Some(i64::MAX)),
        ("-9223372036854775808", Some(i64::MIN)),
        ("9223372036854775808", None),
        ("1.0", None),
        ("1e2", None),
    ] {
        let Ok(Token::Number(number)) = Cursor::new(text).next() else { panic!("{text} is a number") };
        assert_eq!(number.integer(), integer, "{text}");
        assert_eq!(number.text(), text);
    }
}

#[test]
fn floats_are_the_nearest_ones() {
    for text in [
        "0.0",
        "-0.0",
        "0.1",
        "-12.50",
        "9007199254740992.0",
        "9007199254740993.0",
        "900719925474099.3",
        "123456789012345.678",
        "0.00000000000000001",
        "1.7976931348623157e308",
        "5e-324",
        "0.30000000000000004",
        "1234567890123456789012345678901234567890",
    ] {
        let Ok(Token::Number(number)) = Cursor::new(text).next() else { panic!("{text} is a number") };
        assert_eq!(number.float().to_bits(), text.parse::<f64>().expect(text).to_bits(), "{text}");
    }
}

#[test]
fn fuzz_changed_texts() {
    const WORDS: [&str; 24] = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u",
        "\\ud83d",
        "\\ude00",
        "0",
        "-",
        "1e5",
        "1e999",
        ".",
        "true",
        "null",
        " ",
        "\n",
        "\u{e9}",
        "\u{1}",
        "\"a\":",
        "9999999999999999999",
    ];
    let mutator = elah_fuzz::Mutator::new(&SAMPLES, &WORDS);
    elah_fuzz::run("changed JSON", |random| {
        let text = String::from_utf8_lossy(&mutator.mutated(random)).into_owned();
        assert_as_serde(&text);
    });
}
