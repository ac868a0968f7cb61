//! `bare_hyper`: the yardstick of the benchmark.
//!
//! It owns a plain hyper server on a current-thread runtime that answers the same bytes as the applications in
//! `bench/apps` and `apps/links`, without any timeout. It uses nothing of Elah, so that the
//! ratio between the two is the price of Ruby and of everything that Elah adds.

mod answers;

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use clap::Parser;
use http_body_util::BodyExt;
use hyper::Method;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use crate::answers::Answers;

/// A bare hyper server that answers what Elah's benchmark applications answer.
#[derive(Parser, Debug)]
struct Options {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// File of redirects, one "code<TAB>target" per line
    #[arg(long)]
    links: Option<PathBuf>,

    /// Bytes of the answer to /items/random
    #[arg(long, default_value_t = 0)]
    item_bytes: usize,

    /// Bytes of the answers below /leaderboards/
    #[arg(long, default_value_t = 0)]
    board_bytes: usize,
}

/// How long the answer to `answers::SLEEP_PATH` takes.
const SLEEP: Duration = Duration::from_millis(50);

fn main() -> io::Result<()> {
    let options = Options::parse();
    let links = match &options.links {
        Some(file) => fs::read_to_string(file)?,
        None => String::new(),
    };
    let answers = Arc::new(Answers::new(&links, options.item_bytes, options.board_bytes).map_err(io::Error::other)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port))).await?;
        println!("listening on {}", listener.local_addr()?);
        loop {
            // Accepting fails for a moment when descriptors run out; the next try may succeed.
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            tokio::spawn(serve(stream, Arc::clone(&answers)));
        }
    })
}

async fn serve(stream: TcpStream, answers: Arc<Answers>) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let service = service_fn(|request| {
        let answer = answers.answer(&request);
        let waits = request.uri().path() == answers::SLEEP_PATH;
        // Read, since whoever records an event has to; a body that breaks off is the client's affair.
        let posted = (request.method() == Method::POST).then(|| Box::pin(request.into_body().collect()));
        async move {
            if waits {
                // Boxed, so that the future of every other answer stays as small as it was.
                Box::pin(tokio::time::sleep(SLEEP)).await;
            } else if let Some(body) = posted {
                let _ = body.await;
            }
            Ok::<_, Infallible>(answer)
        }
    });
    // No timer: hyper starts and stops one for each request when it has one.
    let connection = http1::Builder::new().pipeline_flush(true).serve_connection(TokioIo::new(stream), service);
    // A client that breaks off is its own affair.
    let _ = connection.await;
}
