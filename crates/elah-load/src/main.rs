//! `elah-load`: an HTTP/1.1 load generator for one core.
//!
//! It owns the command line and the exit status (0 when every request was answered as expected, 1 when one was not,
//! 2 for wrong options). `run` drives the connections, `report` prints what they met.

mod connection;
mod failure;
mod options;
mod pacer;
mod plan;
mod queue;
mod report;
mod requests;
mod results;
mod run;

use std::process::ExitCode;

use clap::Parser;

use crate::options::Options;
use crate::requests::Requests;

fn main() -> ExitCode {
    let options = Options::parse();
    let requests = match Requests::new(&options) {
        Ok(requests) => requests,
        Err(reason) => return refuse(&reason),
    };
    match run::run(&options, requests) {
        Ok(outcome) => {
            let report = report::Report::new(&options, &outcome);
            if options.json {
                println!("{}", report.to_json());
            } else {
                print!("{report}");
            }
            if outcome.results.failures_sum() == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
        Err(reason) => refuse(&reason.to_string()),
    }
}

fn refuse(reason: &str) -> ExitCode {
    eprintln!("elah-load: {reason}");
    ExitCode::from(2)
}
