//! kcup puts one file on the web. This file is the order of things; SPEC.md is what they promise.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use arc_swap::ArcSwap;
use kcup_rust::config::{self, Options, Parsed};
use kcup_rust::content::{self, Content, Settings};
use kcup_rust::ops::{self, signals::Stop};
use kcup_rust::server::{self, Server};

fn main() -> ExitCode {
    match config::parse(std::env::args_os()) {
        Ok(Parsed::Print(text)) => print(&text),
        Ok(Parsed::Serve(options)) => {
            if let Err(problem) = run(options) {
                return fail(1, &problem);
            }
        }
        Err(problem) => return fail(2, &problem),
    }
    ExitCode::SUCCESS
}

fn run(options: Options) -> Result<(), String> {
    ops::log::init(options.log_level, options.log_format);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    let ended = runtime.block_on(serve(Arc::new(options)));
    // A read of standard input that goes on must not hold up the end.
    runtime.shutdown_background();
    ended
}

async fn serve(options: Arc<Options>) -> Result<(), String> {
    let mut stop = Stop::new().map_err(|error| format!("cannot take signals: {error}"))?;
    let load = tokio::task::spawn_blocking({
        let options = options.clone();
        move || content::load(&options)
    });
    let loaded = tokio::select! {
        loaded = load => loaded.expect("loading does not panic")?,
        () = stop.next() => return Ok(()),
    };
    let content = Content::new(loaded.bytes, loaded.modified, &Settings::from(&*options));
    let (listener, url) = server::listen(options.host, options.port)?;
    let content = Arc::new(ArcSwap::from_pointee(content));
    let server = Server::start(listener, &options, &content)?;
    print(&format!("kcup listening on {url}\n"));
    server.run(stop.next()).await;
    tokio::select! {
        ending = server.drain() => ending.log(),
        () = stop.next() => return Err("stopped by a second signal before the drain was over".into()),
    }
    Ok(())
}

fn print(text: &str) {
    // A closed standard output is no reason not to serve (SPEC K-20).
    let _ = std::io::stdout().write_all(text.as_bytes());
    let _ = std::io::stdout().flush();
}

fn fail(status: u8, problem: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "kcup: {problem}");
    ExitCode::from(status)
}
