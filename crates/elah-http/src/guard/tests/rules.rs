//! One case per rule: the bytes, and the status and code of the refusal.

use super::*;

fn refusal(stream: &[u8]) -> (u16, &'static str) {
    let verdict = judge(stream, []);
    verdict.rejection.unwrap_or_else(|| panic!("not refused: {:?} gave {verdict:?}", stream.escape_ascii().to_string()))
}

/// Checks that a whole stream passes as this many messages and leaves nothing open.
fn assert_passes(stream: &[u8], messages: u64) {
    let passed = stream.to_vec();
    let expected = Verdict { passed_bytes: stream.len(), passed, messages, phase: Phase::BetweenMessages, rejection: None };
    assert_eq!(judge(stream, []), expected, "{}", stream.escape_ascii());
}

/// A request with these header lines after a valid Host.
fn with_headers(lines: &str) -> Vec<u8> {
    format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n").into_bytes()
}

/// A request with this chunked body.
fn with_chunks(body: &str) -> Vec<u8> {
    let mut stream = with_headers("Transfer-Encoding: chunked\r\n");
    stream.extend_from_slice(body.as_bytes());
    stream
}

fn with_request_line(line: &str) -> Vec<u8> {
    format!("{line}\r\nHost: a\r\n\r\n").into_bytes()
}

#[test]
fn plain_requests_pass() {
    assert_passes(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1);
    assert_passes(b"GET /a/b%20c?d=e&f[]={g}|h HTTP/1.1\r\nHost: example.com:8080\r\nAccept:*/*\r\nX-Empty:\r\n\r\n", 1);
    assert_passes(b"GET / HTTP/1.0\r\n\r\n", 1);
    assert_passes(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n", 2);
    assert_passes(b"GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 1);
    assert_passes(b"PROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n", 1);
    assert_passes(b"GET / HTTP/1.1\r\nHost: a\r\nX-Name: caf\xe9 \xc3\xa9\ttab\r\n\r\n", 1);
    assert_passes(b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 2);
}

#[test]
fn bodies_pass_up_to_their_end() {
    assert_passes(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 1);
    assert_passes(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 2);
    assert_passes(b"POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 005\r\nExpect: 100-Continue\r\n\r\nGET /GET / HTTP/1.1\r\nHost: a\r\n\r\n", 2);
    assert_passes(&with_chunks("0\r\n\r\n"), 1);
    assert_passes(&with_chunks("5\r\nhello\r\nA;name=\"va;lue\"\r\n0123456789\r\n000\r\nX-Sum: 1\r\n\r\n"), 1);
    assert_passes(&with_chunks("5 ;a\r\nhello\r\n0\t; b = c;d=\"\\\"e\\\\\" ;f\r\n\r\n"), 1);
    let mut two = with_chunks("1\r\na\r\n0\r\n\r\n");
    two.extend(with_headers("Content-Length: 1\r\n"));
    two.push(b'x');
    assert_passes(&two, 2);
}

#[test]
fn phases_follow_the_stream() {
    let stream = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    let phase_after = |bytes: usize| judge(&stream[..bytes], []).phase;
    assert_eq!(phase_after(0), Phase::BetweenMessages);
    assert_eq!(phase_after(1), Phase::InHead);
    assert_eq!(phase_after(stream.len() - 4), Phase::InHead);
    assert_eq!(phase_after(stream.len() - 3), Phase::InBody);
    assert_eq!(phase_after(stream.len() - 1), Phase::InBody);
    assert_eq!(phase_after(stream.len()), Phase::BetweenMessages);
    assert_eq!(judge(b"\r\n", []).phase, Phase::BetweenMessages);
}

#[test]
fn one_pass_holds_one_message() {
    let one = with_headers("Content-Length: 2\r\n");
    let stream = [&one[..], b"ab", &one, b"cd"].concat();
    let mut guard = Guard::new(limits());
    assert_eq!(guard.step(&stream), Step::Pass(one.len() + 2));
    assert_eq!(guard.messages(), 1);
}

#[test]
fn what_precedes_a_fault_passes() {
    let good = with_headers("");
    let verdict = judge(&[&good[..], b"GET /\n\n"].concat(), []);
    assert_eq!((verdict.passed_bytes, verdict.messages), (good.len(), 1));
    assert_eq!(verdict.rejection, Some((400, "invalid_line_end")));
    let chunked = with_chunks("3\r\nabc");
    let verdict = judge(&[&chunked[..], b"xx"].concat(), []);
    assert_eq!(verdict.passed_bytes, chunked.len());
}

#[test]
fn request_lines_are_exact() {
    for line in ["GET /", "GET", "GET / http/1.1", "GET / HTTP/1.1 ", "GET /  HTTP/x", "GET / HTTP/11", "GET / ICY/1.1"] {
        assert_eq!(refusal(&with_request_line(line)), (400, "invalid_request_line"), "{line}");
    }
    for line in [" GET / HTTP/1.1", "\tGET / HTTP/1.1", "\n", "\x16\x03\x01", "\0"] {
        assert_eq!(refusal(line.as_bytes()), (400, "invalid_request_line"), "{line:?}");
    }
    assert_eq!(refusal(b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), (400, "invalid_request_line"));
    for line in ["get / HTTP/1.1", "G\0T / HTTP/1.1", "G(T / HTTP/1.1", "GET\t/ HTTP/1.1", "GET/HTTP/1.1"] {
        assert_eq!(refusal(&with_request_line(line)), (400, "invalid_method"), "{line}");
    }
}

/// RFC 9110 2.5: a higher minor version is read as the highest known one. hyper must not see it.
#[test]
fn a_later_minor_version_becomes_1_1() {
    for minor in 2..=9 {
        let request = format!("POST /1.{minor} HTTP/1.{minor}\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
        let stream = format!("\r\n{request}{request}");
        let verdict = judge(stream.as_bytes(), [3, 20]);
        assert_eq!((verdict.messages, verdict.rejection), (2, None));
        let lowered = stream.replace(&format!("HTTP/1.{minor}"), "HTTP/1.1");
        assert_eq!(String::from_utf8_lossy(&verdict.passed), lowered);
    }
    assert_eq!(refusal(b"GET / HTTP/1.2\r\n\r\n"), (400, "invalid_host"));
    assert_eq!(refusal(&with_request_line("GET / HTTP/1.10")), (400, "invalid_request_line"));
    assert_eq!(refusal(&with_request_line("GET / HTTP/1.")), (400, "invalid_request_line"));
}

#[test]
fn foreign_versions_and_methods_are_not_implemented() {
    for line in ["GET / HTTP/2.0", "GET / HTTP/3.1", "GET / HTTP/0.9"] {
        assert_eq!(refusal(&with_request_line(line)), (505, "http_version_not_supported"), "{line}");
    }
    assert_eq!(refusal(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), (505, "http_version_not_supported"));
    assert_eq!(refusal(&with_request_line("CONNECT a:443 HTTP/1.1")), (501, "method_not_implemented"));
    let long = format!("{} / HTTP/1.1", "M".repeat(33));
    assert_eq!(refusal(&with_request_line(&long)), (501, "method_not_implemented"));
}

#[test]
fn targets_have_a_known_form() {
    let targets = [
        "*",
        "!",
        "a",
        "a:443",
        "?q",
        "",
        "/a b",
        "/a#b",
        "/\x7f",
        "/\x01",
        "/\u{e9}",
        "/<",
        "/?<",
        "/\t",
        "ftp://a/",
        "http://",
        "http:///x",
        "http://u@a/",
        "http://a b/",
        "http://a:x/",
        "http:/a",
        "http://a#f",
        "http://a\\b/",
        "//http://a\x00",
    ];
    for target in targets {
        assert_eq!(refusal(&with_request_line(&format!("GET {target} HTTP/1.1"))), (400, "invalid_target"), "{target:?}");
    }
    assert_passes(&with_request_line("OPTIONS * HTTP/1.1"), 1);
    assert_passes(&with_request_line("GET //x HTTP/1.1"), 1);
}

#[test]
fn absolute_targets_name_the_host_header() {
    for (target, host) in
        [("http://a/", "a"), ("HTTP://A/x?y", "a"), ("http://a:80", "a"), ("http://a?q", "a:80"), ("https://a:443/", "A")]
    {
        assert_passes(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes(), 1);
    }
    for (target, host) in [("http://a/", "b"), ("http://a:81/", "a"), ("https://a/", "a:80"), ("http://a.b/", "a")] {
        let stream = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(refusal(stream.as_bytes()), (400, "invalid_host"), "{target} {host}");
    }
    assert_passes(b"GET http://a/ HTTP/1.0\r\n\r\n", 1);
}

#[test]
fn exactly_one_valid_host_is_needed() {
    assert_eq!(refusal(b"GET / HTTP/1.1\r\n\r\n"), (400, "invalid_host"));
    assert_eq!(refusal(b"GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"), (400, "invalid_host"));
    assert_eq!(refusal(b"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"), (400, "invalid_host"));
    let long = "a".repeat(256);
    for host in [
        "", "###", "a b", "a,b", "a/b", "a@b", "a:b", "a:-1", "a:65536", "a:000080", "a:80:80", "[::1", "[::g]", "[]", "[::1]x",
        "::1", "a\tb", "a%20b", "a\"b", "a<b", "\u{e9}", &long,
    ] {
        let stream = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(refusal(stream.as_bytes()), (400, "invalid_host"), "{host:?}");
    }
    for host in ["a", "A-b_c.example.", "127.0.0.1:0", "[::1]", "[2001:db8::1]:65535", "a:", " \ta \t", "0.0.0.0=5000"] {
        assert_passes(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes(), 1);
    }
}

#[test]
fn lines_end_in_cr_lf() {
    assert_eq!(refusal(b"GET / HTTP/1.1\nHost: a\r\n\r\n"), (400, "invalid_line_end"));
    assert_eq!(refusal(b"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"), (400, "invalid_line_end"));
    assert_eq!(refusal(b"GET / HTTP/1.1\r\nHost: a\r\n\n"), (400, "invalid_line_end"));
    assert_eq!(refusal(b"GET / HTTP/1.1\r\nX: a\rTransfer-Encoding: chunked\r\n\r\n"), (400, "invalid_header_value"));
    assert_eq!(refusal(b"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n"), (400, "invalid_header_value"));
    assert_eq!(refusal(b"GET / HTTP/1.1\r\r\nHost: a\r\n\r\n"), (400, "invalid_request_line"));
}

#[test]
fn header_lines_are_exact() {
    for line in ["X : a", "X\t: a", ": a", "X", "X y: a", "X(: a", "X\u{e9}: a", "X\0: a", "\u{b}X: a", "X;a: b"] {
        assert_eq!(refusal(&with_headers(&format!("{line}\r\n"))), (400, "invalid_header_name"), "{line:?}");
    }
    for line in [" folded", "\tfolded", " X: a"] {
        assert_eq!(refusal(&with_headers(&format!("X: a\r\n{line}\r\n"))), (400, "folded_header"), "{line:?}");
    }
    for value in ["\0", "a\u{1}b", "01234567\u{1f}", "0123456\u{7f}9", "\u{b}", "\u{c}", "caf\u{e9}\u{1b}[31m", "        \t\u{8}"]
    {
        assert_eq!(refusal(&with_headers(&format!("X: {value}\r\n"))), (400, "invalid_header_value"), "{value:?}");
    }
}

#[test]
fn content_length_is_one_decimal_number() {
    let long_zeros = format!("{}5", "0".repeat(19));
    for value in ["", "+5", "-5", "0x5", "5 5", "5,5", "5, 5", "5.0", "5_0", "\t5", "5\t", "V", "\u{663}", "1e3", &long_zeros] {
        let stream = with_headers(&format!("Content-Length: {value}\r\n"));
        assert_eq!(refusal(&stream), (400, "invalid_content_length"), "{value:?}");
    }
    for lines in [
        "Content-Length: 5\r\ncontent-length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 0\r\nContent-Length: 0\r\n",
    ] {
        assert_eq!(refusal(&with_headers(lines)), (400, "invalid_content_length"), "{lines}");
    }
    for value in ["1001", "18446744073709551615", "18446744073709551616", "99999999999999999999999999"] {
        let stream = with_headers(&format!("Content-Length: {value}\r\n"));
        assert_eq!(refusal(&stream), (413, "body_too_large"), "{value}");
    }
}

#[test]
fn transfer_encoding_is_chunked_once() {
    for value in [
        "",
        "chunked, chunked",
        ",chunked",
        "chunked,",
        "gzip",
        "identity",
        "xchunked",
        "chunked, gzip",
        "chunked;q=1",
        "\"chunked\"",
        "chunked\t",
        "\tchunked",
        "chunked, identity",
        "chunked chunked",
        "gzip, ,chunked",
        "chun\u{212a}ed",
        "gzip chunked",
    ] {
        let stream = with_headers(&format!("Transfer-Encoding: {value}\r\n"));
        assert_eq!(refusal(&stream), (400, "invalid_transfer_encoding"), "{value:?}");
    }
    for value in ["gzip, chunked", "identity,chunked", "gzip , br, CHUNKED"] {
        let stream = with_headers(&format!("Transfer-Encoding: {value}\r\n"));
        assert_eq!(refusal(&stream), (501, "transfer_encoding_not_implemented"), "{value:?}");
    }
    let twice = with_headers("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n");
    assert_eq!(refusal(&twice), (400, "invalid_transfer_encoding"));
    let old = b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(refusal(old), (400, "invalid_transfer_encoding"));
    for lines in ["Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"] {
        assert_eq!(refusal(&with_headers(lines)), (400, "ambiguous_body_length"), "{lines}");
    }
    assert_passes(b"POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding:  CHUNKED \r\n\r\n0\r\n\r\n", 1);
}

#[test]
fn names_that_collide_in_a_cgi_environment_are_refused() {
    for lines in [
        "X-Real-Ip: 1\r\nX_REAL_IP: 2\r\n",
        "a_b-c: 1\r\nAccept: x\r\na-b_c: 2\r\n",
        "Content_Length: 5\r\n",
        "Transfer_Encoding: chunked\r\n",
        "Content-Type: text/html\r\ncontent-type: text/plain\r\n",
    ] {
        assert_eq!(refusal(&with_headers(lines)), (400, "ambiguous_header"), "{lines}");
    }
    assert_passes(&with_headers("X_Y: 1\r\nx_y: 2\r\nX-Z: 3\r\n"), 1);
}

#[test]
fn the_only_expectation_is_100_continue() {
    for value in ["200-ok", "", "100-continue, 100-continue", "100-continue;q=1"] {
        assert_eq!(refusal(&with_headers(&format!("Expect: {value}\r\n"))), (417, "expectation_failed"), "{value}");
    }
}

#[test]
fn heads_are_bounded() {
    let target_of = |bytes: usize| format!("/{}", "a".repeat(bytes - 1));
    assert_passes(&with_request_line(&format!("GET {} HTTP/1.1", target_of(64))), 1);
    assert_eq!(refusal(&with_request_line(&format!("GET {} HTTP/1.1", target_of(65)))), (414, "target_too_long"));
    assert_eq!(refusal(format!("GET {}", target_of(400)).as_bytes()), (414, "target_too_long"));

    let filler = |bytes: usize| format!("X: {}\r\n", "x".repeat(bytes - 5));
    let fixed = with_headers("").len();
    assert_passes(&with_headers(&filler(512 - fixed)), 1);
    assert_eq!(refusal(&with_headers(&filler(513 - fixed))), (431, "headers_too_large"));
    assert_eq!(refusal(&[&b"GET / HTTP/1.1\r\nX: "[..], &[b'x'; 600]].concat()), (431, "headers_too_large"));

    assert_passes(&with_headers(&"X: y\r\n".repeat(7)), 1);
    assert_eq!(refusal(&with_headers(&"X: y\r\n".repeat(8))), (431, "too_many_headers"));
}

#[test]
fn chunk_framing_is_exact() {
    for body in [
        "\r\n",
        ";a\r\n",
        "+5\r\nhello\r\n",
        "-5\r\n",
        "0x5\r\nhello\r\n",
        "5_0\r\n",
        " 5\r\nhello\r\n",
        "5 \r\nhello\r\n",
        "5\t\r\n",
        "g\r\n",
        "5\r\r\n",
        "5;\r\n",
        "5;a=\r\n",
        "5;a=\"b\r\n",
        "5;a=\"b\\\"\r\n",
        "5;a b\r\n",
        "5;a \r\n",
        "5;;a\r\n",
        "5;a=\"b\"c\r\n",
        "5;=a\r\n",
        "5;\0\r\n",
        "5;a\rb\r\n",
        "00000000000000005\r\n",
        "3\r\nabcd\r\n",
        "3\r\nabc\n",
        "3\r\nabc\r\r\n",
        "3\r\nabc0\r\n\r\n",
    ] {
        assert_eq!(refusal(&with_chunks(body)), (400, "invalid_chunk"), "{body:?}");
    }
    for body in ["5\nhello\r\n", "\n", "0\r\n\n", "0\n\r\n", "0\r\nX: a\n\r\n"] {
        assert_eq!(refusal(&with_chunks(body)), (400, "invalid_line_end"), "{body:?}");
    }
}

#[test]
fn chunked_bodies_are_bounded() {
    assert_passes(&with_chunks(&format!("1f4\r\n{0}\r\n1F4\r\n{0}\r\n0\r\n\r\n", "x".repeat(500))), 1);
    for body in ["3e9\r\n", "ffffffffffffffff\r\n", "1\r\na\r\nffffffffffffffff\r\n", "1\r\na\r\n3e8\r\n"] {
        assert_eq!(refusal(&with_chunks(body)), (413, "body_too_large"), "{body:?}");
    }
    let extension = |bytes: usize| format!("1;{}\r\na\r\n", "e".repeat(bytes - 4));
    assert_passes(&with_chunks(&format!("{}0\r\n\r\n", extension(1024))), 1);
    assert_eq!(refusal(&with_chunks(&extension(1025))), (400, "invalid_chunk"));
    assert_eq!(refusal(&with_chunks(&"5".repeat(2000))), (400, "invalid_chunk"));
    assert_eq!(refusal(&with_chunks(&extension(1024).repeat(9))), (400, "invalid_chunk"));
}

#[test]
fn trailers_are_judged_like_headers_and_bounded() {
    for name in ["Content-Length", "transfer-encoding", "Host", "Authorization", "Cookie", "TE"] {
        assert_eq!(refusal(&with_chunks(&format!("0\r\n{name}: 1\r\n\r\n"))), (400, "invalid_trailer"), "{name}");
    }
    assert_eq!(refusal(&with_chunks("0\r\nX : a\r\n\r\n")), (400, "invalid_header_name"));
    assert_eq!(refusal(&with_chunks("0\r\nX: a\r\n folded\r\n\r\n")), (400, "folded_header"));
    assert_eq!(refusal(&with_chunks("0\r\nX: \0\r\n\r\n")), (400, "invalid_header_value"));
    assert_eq!(refusal(&with_chunks("0\r\nGET / HTTP/1.1\r\n\r\n")), (400, "invalid_header_name"));
    assert_passes(&with_chunks(&format!("0\r\n{}\r\n", "X: y\r\n".repeat(8))), 1);
    assert_eq!(refusal(&with_chunks(&format!("0\r\n{}\r\n", "X: y\r\n".repeat(9)))), (431, "trailers_too_large"));
    assert_eq!(refusal(&with_chunks(&format!("0\r\nX: {}", "y".repeat(9000)))), (431, "trailers_too_large"));
}
