//! kcup puts one file on the web. This file is the order of things; SPEC.md is what they promise.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use arc_swap::ArcSwap;
use kcup_rust::config::{self, Options, Parsed};
use kcup_rust::content::{self, policy, Content, Settings};
use kcup_rust::ops::{self, signals::Stop, stream};
use kcup_rust::server::{self, Server};

fn main() -> ExitCode {
    let done = match config::parse(std::env::args_os()) {
        Ok(Parsed::Print(text)) => Ok((text, 0)),
        Ok(Parsed::Ask(options, question)) => policy::answer(&options, &question).map_err(|why| (why, 1)),
        Ok(Parsed::Serve(options)) => run(options).map(|()| (String::new(), 0)).map_err(|why| (why, 1)),
        Err(why) => Err((why, 2)),
    };
    // A closed standard output or standard error changes nothing (SPEC K-20).
    let (status, _) = match done {
        Ok((text, status)) => (status, std::io::stdout().write_all(text.as_bytes())),
        Err((why, status)) => {
            let say = |line| stream::offer(&std::io::stderr(), format!("kcup: {line}\n").as_bytes());
            why.lines().for_each(say);
            (status, Ok(()))
        }
    };
    ExitCode::from(status)
}

fn run(options: Options) -> Result<(), String> {
    ops::log::init(options.log_level, options.log_format);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    let ended = runtime.block_on(serve(Arc::new(options)));
    // A read of standard input that goes on must not hold up the end.
    runtime.shutdown_background();
    ended
}

async fn serve(options: Arc<Options>) -> Result<(), String> {
    let mut stop = Stop::new().map_err(|error| format!("cannot take signals: {error}"))?;
    let Some(loaded) = content::load_unless(stop.next(), &options).await? else {
        return Ok(());
    };
    let content = Content::new(loaded.bytes, loaded.modified, &Settings::from(&*options));
    let (listener, url) = server::listen(options.host, options.port)?;
    let content = Arc::new(ArcSwap::from_pointee(content));
    let server = Server::start(listener, &options, &content)?;
    stream::offer(&std::io::stdout(), format!("kcup listening on {url}\n").as_bytes());
    server.run(stop.next()).await;
    tokio::select! {
        ending = server.drain() => ending.log(),
        () = stop.next() => return Err("stopped by a second signal before the drain was over".into()),
    }
    Ok(())
}
