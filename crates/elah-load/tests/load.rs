//! Runs the real `elah-load` against a server in this process.

mod server;

use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::Value;
use server::{Action, Server, ok};

fn run(address: SocketAddr, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_elah-load"))
        .arg("--url")
        .arg(format!("http://{address}/path"))
        .args(arguments)
        .output()
        .expect("elah-load starts")
}

fn report(address: SocketAddr, arguments: &[&str]) -> Value {
    let output = run(address, &[arguments, &["--json"]].concat());
    serde_json::from_slice(&output.stdout).expect("a JSON report")
}

fn answering(answer: Vec<u8>) -> Server {
    Server::start(move |_| Action::Send(answer.clone()))
}

fn once<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["--once", "--connections", "1"], arguments].concat()
}

#[test]
fn an_open_loop_sends_what_was_planned() {
    let server = answering(ok("hello"));
    let report = report(server.address, &["--rate", "500", "--connections", "4", "--duration", "1", "--warmup", "0.2"]);
    assert_eq!(report["answered"], 500);
    assert_eq!(report["failed"], 0);
    assert_eq!(server.heads.lock().unwrap().len(), 600);
}

#[test]
fn the_spectrum_climbs_to_the_slowest_answer() {
    let server = answering(ok("hello"));
    let report =
        report(server.address, &["--rate", "500", "--connections", "4", "--duration", "1", "--warmup", "0", "--spectrum"]);
    let pairs = report["spectrum"].as_array().expect("pairs of quantile and microseconds");
    let column = |index: usize| pairs.iter().map(|pair| pair[index].as_f64().unwrap()).collect::<Vec<_>>();
    assert!(pairs.len() > 10, "{} pairs", pairs.len());
    assert!(column(0).is_sorted() && column(1).is_sorted());
    assert_eq!(column(0).last(), Some(&1.0));
    let max = report["latency_us"]["max"].as_f64().unwrap();
    assert!((column(1).last().unwrap() / max - 1.0).abs() < 0.01, "{:?} and {max}", column(1).last());
}

#[test]
fn a_stall_counts_for_every_request_that_was_planned_within_it() {
    // The server responds to one request of a second's load half a second late. A closed loop would see one slow request
    // in a thousand; an open one sees that half of all planned requests had to wait.
    let stall = Duration::from_millis(500);
    let server = Server::start(move |index| match index {
        250 => Action::SendAfter(stall, ok("late")),
        _ => Action::Send(ok("hello")),
    });
    let report = report(server.address, &["--rate", "1000", "--connections", "1", "--duration", "1", "--warmup", "0"]);
    assert_eq!(report["answered"], 1000);
    let latency = |name: &str| report["latency_us"][name].as_f64().unwrap();
    assert!(latency("max") >= 500_000.0, "max {}", latency("max"));
    assert!(latency("p90") >= 350_000.0, "p90 {}", latency("p90"));
    let lag = report["generator"]["lag_us"]["p50"].as_f64().unwrap();
    assert!(lag < 10_000.0, "the wait is the server's, not the generator's lag: {lag}");
}

#[test]
fn a_request_that_waits_for_a_connection_longer_than_the_timeout_is_a_timeout() {
    let server = Server::start(|_| Action::Ignore);
    let arguments = ["--rate", "100", "--connections", "1", "--duration", "0.5", "--warmup", "0", "--timeout", "0.1"];
    let report = report(server.address, &arguments);
    assert_eq!(report["failures"]["timeout"], 50);
    assert_eq!(report["answered"], 0);
}

#[test]
fn a_closed_loop_sends_the_next_request_after_each_answer() {
    let server = answering(ok("hello"));
    let report = report(server.address, &["--closed", "--connections", "2", "--duration", "0.3", "--warmup", "0"]);
    let (answered, received) = (report["answered"].as_u64().unwrap(), server.heads.lock().unwrap().len() as u64);
    assert!(answered > 100, "answered {answered}");
    // Each of the two connections may have had its last request answered after the end.
    assert!(received - answered <= 2, "received {received}, answered {answered}");
}

#[test]
fn once_sends_one_request_on_every_connection() {
    let server = answering(ok("hello"));
    let report = report(server.address, &["--once", "--connections", "200"]);
    assert_eq!(report["answered"], 200);
    assert_eq!(server.heads.lock().unwrap().len(), 200);
}

#[test]
fn a_refused_connection_is_a_connect_failure() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(report(closed, &once(&[]))["failures"]["connect"], 1);
}

#[test]
fn a_closed_connection_is_a_reset_and_the_next_request_opens_another() {
    let server = Server::start(|index| if index == 0 { Action::Close } else { Action::Send(ok("hello")) });
    let report = report(server.address, &["--rate", "20", "--connections", "1", "--duration", "0.5", "--warmup", "0"]);
    assert_eq!(report["failures"]["reset"], 1);
    assert_eq!(report["answered"], 9);
}

#[test]
fn an_answer_cut_short_is_a_reset() {
    let server = Server::start(|_| Action::SendAndClose(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello".to_vec()));
    assert_eq!(report(server.address, &once(&[]))["failures"]["reset"], 1);
}

#[test]
fn another_status_and_another_body_are_failures_of_their_own() {
    let server = answering(ok("hello"));
    assert_eq!(report(server.address, &once(&["--expect-status", "204"]))["failures"]["status"], 1);
    assert_eq!(report(server.address, &once(&["--expect-body", "hullo"]))["failures"]["body"], 1);
    assert_eq!(report(server.address, &once(&["--expect-body", "hello"]))["answered"], 1);
}

#[test]
fn an_answer_that_is_not_http_is_malformed() {
    let server = answering(b"SSH-2.0-OpenSSH\r\n".to_vec());
    assert_eq!(report(server.address, &once(&[]))["failures"]["malformed"], 1);
}

#[test]
fn chunked_bodies_and_interim_answers_are_read() {
    let answer = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                  5\r\nhello\r\n6;x=1\r\n world\r\n0\r\nTrailer: 1\r\n\r\n";
    let server = answering(answer.as_bytes().to_vec());
    let report = report(server.address, &once(&["--expect-body", "hello world"]));
    assert_eq!(report["answered"], 1, "{report}");
}

#[test]
fn method_headers_body_and_paths_reach_the_server() {
    let server = answering(ok("hello"));
    let file = std::env::temp_dir().join(format!("elah-load-paths-{}", std::process::id()));
    std::fs::write(&file, "/one\n/two\n").unwrap();
    let paths = file.to_str().unwrap();
    let arguments = ["--method", "POST", "--header", "X-Key: 7", "--body", "", "--paths", paths, "--once", "--connections", "40"];
    assert_eq!(report(server.address, &arguments)["answered"], 40);
    std::fs::remove_file(&file).unwrap();
    let heads = server.heads.lock().unwrap();
    let host = server.address;
    for path in ["/one", "/two"] {
        let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nX-Key: 7\r\nContent-Length: 0\r\n\r\n");
        assert!(heads.contains(&head), "{path} is missing in {heads:?}");
    }
}

#[test]
fn a_line_of_the_file_may_have_its_own_verb_and_body() {
    let server = answering(ok("hello"));
    let file = std::env::temp_dir().join(format!("elah-load-lines-{}", std::process::id()));
    std::fs::write(&file, "/one\nPUT\t/two\t{\"score\":7}\n").unwrap();
    let lines = ["--paths", file.to_str().unwrap(), "--once", "--connections", "40"];
    assert_eq!(report(server.address, &lines)["answered"], 40);
    std::fs::write(&file, "PUT\ttwo\t{}\n").unwrap();
    assert_eq!(run(server.address, &lines).status.code(), Some(2), "a path begins with /");
    std::fs::remove_file(&file).unwrap();
    let heads = server.heads.lock().unwrap();
    let host = server.address;
    let head = format!("PUT /two HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n");
    assert!(heads.contains(&head) && heads.contains(&format!("GET /one HTTP/1.1\r\nHost: {host}\r\n\r\n")), "{heads:?}");
}

#[test]
fn the_exit_status_tells_failures_and_wrong_options_apart() {
    let server = answering(ok("hello"));
    let status = |arguments: &[&str]| run(server.address, arguments).status.code();
    assert_eq!(status(&once(&[])), Some(0));
    assert_eq!(status(&once(&["--expect-status", "204"])), Some(1));
    assert_eq!(status(&once(&["--header", "no colon"])), Some(2));
    assert_eq!(status(&["--rate", "0"]), Some(2));
    assert_eq!(status(&["--rate", "5", "--closed"]), Some(2));
}
