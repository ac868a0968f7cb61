//! A tiny HTTP server of threads for the tests: every connection gets the responses of one script, request by request.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What to do with one request, counted over all connections from 0.
pub(crate) type Script = dyn Fn(usize) -> Action + Send + Sync;

pub(crate) enum Action {
    /// Send these bytes.
    Send(Vec<u8>),
    /// Send these bytes after a pause.
    SendAfter(Duration, Vec<u8>),
    /// Send these bytes, then close the connection.
    SendAndClose(Vec<u8>),
    /// Close the connection without a response.
    Close,
    /// Send no response, and keep the connection open.
    Ignore,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// The heads of all requests, as they came.
    pub(crate) heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server on a free port; its threads end with the test's process.
    pub(crate) fn start(script: impl Fn(usize) -> Action + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (script, count, seen): (Arc<Script>, _, _) = (Arc::new(script), Arc::new(AtomicUsize::new(0)), Arc::clone(&heads));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, count, seen) = (Arc::clone(&script), Arc::clone(&count), Arc::clone(&seen));
                thread::spawn(move || converse(stream, &*script, &count, &seen));
            }
        });
        Self { address, heads }
    }
}

/// A response of status 200 with a Content-Length.
pub(crate) fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn converse(stream: TcpStream, script: &Script, count: &AtomicUsize, seen: &Mutex<Vec<String>>) {
    let mut writer = stream.try_clone().expect("a second handle");
    let mut reader = BufReader::new(stream);
    while let Some(head) = read_head(&mut reader) {
        seen.lock().expect("no holder panics").push(head);
        let answer = match script(count.fetch_add(1, Ordering::SeqCst)) {
            Action::Send(answer) => answer,
            Action::SendAfter(pause, answer) => {
                thread::sleep(pause);
                answer
            }
            Action::SendAndClose(answer) => {
                let _ = writer.write_all(&answer);
                return;
            }
            Action::Close => return,
            Action::Ignore => continue,
        };
        if writer.write_all(&answer).is_err() {
            return;
        }
    }
}

fn read_head(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut head = String::new();
    loop {
        match reader.read_line(&mut head) {
            Ok(0) | Err(_) => return None,
            Ok(_) if head.ends_with("\r\n\r\n") => return Some(head),
            Ok(_) => {}
        }
    }
}
