//! The plain answers on axum, on a current-thread runtime: `lab_axum PORT`.

use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::routing::get;
use axum::serve::ListenerExt;
use serde::Serialize;
use tokio::net::TcpListener;

#[derive(Serialize)]
struct Item {
    id: u32,
    title: &'static str,
    done: bool,
    tags: [&'static str; 2],
}

type Text = ([(HeaderName, &'static str); 1], &'static str);

fn text(body: &'static str) -> Text {
    ([(CONTENT_TYPE, "text/plain")], body)
}

async fn hello() -> Text {
    text("hello world")
}

async fn json() -> Json<Item> {
    Json(Item { id: 42, title: "hello world", done: false, tags: ["ruby", "rust"] })
}

async fn sleep() -> Text {
    tokio::time::sleep(Duration::from_millis(50)).await;
    text("slept")
}

fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).ok_or_else(|| std::io::Error::other("no port was given"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let router = Router::new().route("/hello", get(hello)).route("/json", get(json)).route("/sleep", get(sleep));
        let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?.tap_io(|stream| {
            // Without it the answer still arrives, only later.
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, router).await
    })
}
