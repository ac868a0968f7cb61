//! Parts of multipart bodies: heads, contents, and what is refused, whatever the size of the body.

use elah_form::multipart::{MultipartError, PartBounds, PartHead, PartReader};
use elah_fuzz::{Mutator, Random};
use memchr::memmem;

const CONTENT_TYPE: &[u8] = b"multipart/form-data; boundary=AaB03x";

fn read_all(body: &[u8], content_type: &[u8], parts_max: usize) -> Result<Vec<(PartHead, Vec<u8>)>, MultipartError> {
    let mut reader = PartReader::new(body, content_type, PartBounds { parts_max, files_max: parts_max })?;
    let mut parts = Vec::new();
    while let Some(head) = reader.next_part()? {
        let mut content = Vec::new();
        while let Some(chunk) = reader.next_chunk()? {
            content.extend_from_slice(&chunk);
        }
        parts.push((head, content));
    }
    Ok(parts)
}

fn part(head: &str, content: &str) -> String {
    format!("--AaB03x\r\n{head}\r\n\r\n{content}\r\n")
}

fn head_of(disposition: &str) -> Result<PartHead, MultipartError> {
    let body = part(&format!("Content-Disposition: {disposition}"), "x") + "--AaB03x--\r\n";
    read_all(body.as_bytes(), CONTENT_TYPE, 10).map(|mut parts| parts.remove(0).0)
}

#[test]
fn parts_have_their_heads_and_contents() {
    let body = "preamble\r\n".to_owned()
        + &part("Content-Disposition: form-data; name=\"a[b]\"", "one\r\ntwo")
        + &part("content-disposition: form-data; name=f; filename=\"n.txt\"\r\ncontent-type: text/plain; charset=\"latin1\"", "")
        + "--AaB03x--\r\nepilogue";
    let parts = read_all(body.as_bytes(), CONTENT_TYPE, 2).expect("a valid body");
    assert_eq!(parts.len(), 2);
    assert_eq!((parts[0].0.name.as_str(), parts[0].1.as_slice()), ("a[b]", &b"one\r\ntwo"[..]));
    assert_eq!((parts[0].0.filename.as_deref(), parts[0].0.charset()), (None, None));
    let (head, content) = &parts[1];
    assert_eq!((head.name.as_str(), head.filename.as_deref(), content.len()), ("f", Some("n.txt"), 0));
    assert_eq!(head.charset().as_deref(), Some("latin1"));
    let text = "Content-Disposition: form-data; name=f; filename=\"n.txt\"\r\nContent-Type: text/plain; charset=\"latin1\"\r\n";
    assert_eq!(String::from_utf8_lossy(&head.text), text);
}

#[test]
fn filenames_are_read_as_clients_write_them() {
    for (written, filename) in [
        (r#"filename="a.txt""#, "a.txt"),
        (r"filename=a.txt", "a.txt"),
        (r#"FileName="a b;c.txt""#, "a b;c.txt"),
        (r#"filename="a \"b\".txt""#, "a \"b\".txt"),
        (r#"filename="C:\Documents\me\a.txt""#, "a.txt"),
        (r#"filename="/etc/../passwd""#, "passwd"),
        (r#"filename="caf%C3%A9.txt""#, "caf\u{e9}.txt"),
        (r#"filename="100%.txt""#, "100%.txt"),
        ("filename=\"caf\u{e9}.txt\"", "caf\u{e9}.txt"),
        ("filename*=UTF-8''na%C3%AFve.txt", "na\u{ef}ve.txt"),
        ("filename*=iso-8859-1'en'na%EFve.txt", "na\u{ef}ve.txt"),
        (r#"filename="""#, ""),
        (r#"filename="..""#, "__"),
        (r#"filename="../..""#, "__"),
        (r#"filename="a/.""#, "_"),
        (r#"filename="%2e%2e%2fetc%2F..""#, "__"),
        ("filename*=UTF-8''..%5C..%5C", "__"),
        (r#"filename="...""#, "..."),
        (r#"filename="a%00b%0D%0Ac%1B%7f.txt""#, "a_b__c__.txt"),
        ("filename*=UTF-8''a%C2%85b", "a_b"),
        ("filename=\"a\tb\"", "a_b"),
    ] {
        let head = head_of(&format!("form-data; name=\"f\"; {written}")).expect(written);
        assert_eq!(head.filename.as_deref(), Some(filename), "{written}");
    }
}

#[test]
fn names_must_be_there_and_in_utf8() {
    assert_eq!(head_of(r#"form-data; name="a \"b\" \\c""#).expect("a name").name, "a \"b\" \\c");
    assert_eq!(head_of("form-data; name=\"\u{e9}\"").expect("a name").name, "\u{e9}");
    for disposition in ["form-data", "form-data; name=\"\"", "form-data; filename=\"a\"", "form-data; nname=\"a\""] {
        assert_eq!(head_of(disposition), Err(MultipartError::Unnamed { part: 1 }), "{disposition}");
    }
    let nameless = "--AaB03x\r\nContent-Type: text/plain\r\n\r\nx\r\n--AaB03x--";
    assert_eq!(read_all(nameless.as_bytes(), CONTENT_TYPE, 1), Err(MultipartError::Unnamed { part: 1 }));
    let latin = b"--AaB03x\r\nContent-Disposition: form-data; name=\"\xe9\"\r\n\r\nx\r\n--AaB03x--";
    assert_eq!(read_all(latin, CONTENT_TYPE, 1), Err(MultipartError::Unnamed { part: 1 }));
}

#[test]
fn every_cut_of_a_body_is_refused() {
    let body =
        part("Content-Disposition: form-data; name=a", "1") + &part("Content-Disposition: form-data; name=b", "2") + "--AaB03x--";
    assert_eq!(read_all(body.as_bytes(), CONTENT_TYPE, 9).map(|parts| parts.len()), Ok(2));
    for length in 0..body.len() {
        assert_eq!(read_all(&body.as_bytes()[..length], CONTENT_TYPE, 9), Err(MultipartError::Truncated), "{length} bytes");
    }
}

#[test]
fn large_bodies_are_read_whatever_lies_on_the_borders_of_their_chunks() {
    for length in (262_100..262_160).chain([1_000_000]) {
        let content = "\r\n--AaB03".repeat(length / 9 + 1);
        let body = part("Content-Disposition: form-data; name=a", &content[..length]) + "--AaB03x--";
        let parts = read_all(body.as_bytes(), CONTENT_TYPE, 1).expect("a valid body");
        assert!(parts[0].1 == content.as_bytes()[..length], "{length}");
    }
    let endless = "x".repeat(3_000_000);
    assert_eq!(read_all(endless.as_bytes(), CONTENT_TYPE, 1), Err(MultipartError::Truncated));
    let headless = format!("--AaB03x\r\nX: {endless}");
    assert_eq!(read_all(headless.as_bytes(), CONTENT_TYPE, 1), Err(MultipartError::Truncated));
}

#[test]
fn parts_that_are_not_read_are_skipped_and_their_number_is_bounded() {
    let body = part("Content-Disposition: form-data; name=a", "content").repeat(3_000) + "--AaB03x--";
    let bounds = PartBounds { parts_max: 3_000, files_max: 0 };
    let mut reader = PartReader::new(body.as_bytes(), CONTENT_TYPE, bounds).expect("a boundary");
    let mut count = 0;
    while reader.next_part().expect("a valid body").is_some() {
        count += 1;
    }
    assert_eq!(count, 3_000);
    assert_eq!(read_all(body.as_bytes(), CONTENT_TYPE, 2_999), Err(MultipartError::TooManyParts { parts_max: 2_999 }));
}

#[test]
fn the_content_type_must_name_one_boundary() {
    let body = b"--x--";
    for content_type in [
        "multipart/form-data; boundary=x",
        "Multipart/Mixed;charset=utf-8; Boundary=\"x\"",
        "multipart/form-data; boundary=x; a=b",
    ] {
        assert_eq!(read_all(body, content_type.as_bytes(), 1), Ok(Vec::new()), "{content_type}");
    }
    let long = format!("multipart/form-data; boundary={}", "x".repeat(71));
    for (content_type, reason) in [
        ("application/json", "is not multipart"),
        ("multipart/form-data", "names no boundary"),
        ("multipart/form-data; boundary =x", "names no boundary"),
        ("multipart/form-data; boundary=x; boundary=y", "names more than one boundary"),
        ("multipart/form-data; boundary=", "names a boundary that is not 1 to 70 ASCII characters"),
        (long.as_str(), "names a boundary that is not 1 to 70 ASCII characters"),
    ] {
        assert_eq!(read_all(body, content_type.as_bytes(), 1), Err(MultipartError::Boundary { reason }), "{content_type}");
    }
}

#[test]
fn heads_that_break_the_format_are_refused() {
    for head in ["Content-Disposition form-data", "Content Disposition: form-data; name=a", "A: b\r\nbad\u{1}name: c"] {
        let body = part(head, "x") + "--AaB03x--";
        let refused = read_all(body.as_bytes(), CONTENT_TYPE, 1);
        assert!(matches!(refused, Err(MultipartError::Head { part: 1, .. })), "{head}: {refused:?}");
    }
    let many = (0..100).map(|index| format!("X-{index}: y\r\n")).collect::<String>();
    let body = part(&(many + "Content-Disposition: form-data; name=a"), "x") + "--AaB03x--";
    assert!(matches!(read_all(body.as_bytes(), CONTENT_TYPE, 1), Err(MultipartError::Head { .. })));
}

/// Heads that clients send, and such as none should.
const HEADS: [&str; 8] = [
    "Content-Disposition: form-data; name=\"a\"",
    "Content-Disposition: form-data; name=\"a[b]\"; filename=\"n.txt\"\r\nContent-Type: text/plain",
    "content-disposition: form-data; name=f; filename*=UTF-8''na%C3%AFve.txt",
    "Content-Disposition: form-data; filename=\"C:\\\\a\\\\..\"; name=\"q\\\"q\"",
    "Content-Disposition: form-data; name=\"a\"; filename=\"%2e%2e%2f%00\"",
    "X-Other: 1\r\nContent-Disposition: form-data; name=\"a\"",
    "Content-Type: text/plain; charset=latin1",
    "Content-Disposition: attachment",
];

const WORDS: [&str; 24] = [
    "--AaB03x",
    "--AaB03x--",
    "\r\n--AaB03x\r\n",
    "\r\n--AaB03x--\r\n",
    "\r\n",
    "\r\n\r\n",
    "\n",
    "\r",
    "\0",
    "--",
    "\"",
    "\\",
    ";",
    "=",
    ":",
    "%",
    "'",
    "..",
    "/",
    "name=",
    "filename=\"",
    "filename*=",
    "Content-Disposition:",
    "\u{1F600}",
];

/// Parts come out as they went in, whatever their contents are; bodies that were changed are read to an end, and file names stay harmless.
#[test]
fn fuzz_changed_bodies() {
    elah_fuzz::run("changed multipart bodies", |random| {
        let contents: Vec<_> = (0..random.below(4)).map(|_| content(random)).collect();
        let mut body = Vec::new();
        for content in &contents {
            let head = if random.once_in(2) { HEADS[0] } else { random.pick(&HEADS[..3]) };
            body.extend_from_slice(format!("--AaB03x\r\n{head}\r\n\r\n").as_bytes());
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"--AaB03x--\r\n");
        let read = read_all(&body, CONTENT_TYPE, 10).expect("the body is valid");
        assert_eq!(read.into_iter().map(|(_, content)| content).collect::<Vec<_>>(), contents);

        let words: Vec<_> = WORDS.iter().chain(&HEADS).collect();
        let mutator = Mutator::new(&[body], &words);
        let changed = mutator.mutated(random);
        let parts_max = 1 + random.below(4);
        let Ok(parts) = read_all(&changed, CONTENT_TYPE, parts_max) else { return };
        assert!(parts.len() <= parts_max);
        for (head, content) in parts {
            assert!(memmem::find(&changed, &content).is_some(), "{}", changed.escape_ascii());
            assert!(memmem::find(&content, b"\r\n--AaB03x").is_none(), "{}", changed.escape_ascii());
            assert!(!head.name.is_empty());
            let filename = head.filename.unwrap_or_default();
            assert!(
                !matches!(filename.as_str(), "." | "..") && !filename.contains(['/', '\\', '\0', '\r', '\n']),
                "{filename:?}"
            );
        }
    });
}

/// Bytes without the boundary, and often with much of it.
fn content(random: &mut Random) -> Vec<u8> {
    loop {
        let content = match random.below(3) {
            0 => random.bytes(200),
            1 => (0..random.below(30))
                .flat_map(|_| *random.pick(&[&b"\r\n"[..], b"--", b"AaB03", b"x", b"\r", b"\n", b"\0"]))
                .copied()
                .collect(),
            _ => vec![b'x'; random.below(2) * 600_000],
        };
        // A line that begins with the boundary ends the part, also at the start of the content.
        if memmem::find(&[b"\r\n".as_slice(), &content].concat(), b"\r\n--AaB03x").is_none() {
            return content;
        }
    }
}
