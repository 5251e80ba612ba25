//! kcup puts one file on the web. This file has the order of things; SPEC.md has the promises.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use kcup_rust::access_log;
use kcup_rust::config::{self, Options, Parsed};
use kcup_rust::content::{self, cannot, policy};
use kcup_rust::ops::{
    self, admin::Admin, health, notify::Notifier, reload::Reload, sandbox, signals::Stop, stream,
};
use kcup_rust::server::{self, Listener, Server, tls::Certificate};

fn main() -> ExitCode {
    // The kernel may make a huge page of each stack of 2 MiB, std's default, but not of shorter ones.
    // SAFETY: there is no other thread yet.
    unsafe { std::env::set_var("RUST_MIN_STACK", "1000000") };
    let nothing = |()| (String::new(), 0);
    let done = match config::parse(std::env::args_os()) {
        Ok(Parsed::Print(text)) => Ok((text, 0)),
        Ok(Parsed::Ask(options, question)) => {
            content::prompt(&options).inspect(|prompt| stream::prompt(prompt));
            policy::answer(&options, &question).map_err(|why| (why, 1))
        }
        Ok(Parsed::CheckHealth(options)) => health::check(&options).map(nothing).map_err(|why| (why, 1)),
        Ok(Parsed::Serve(options)) => run(options).map(nothing).map_err(|why| (why, 1)),
        Err(why) => Err((why, 2)),
    };
    stream::report(done)
}

fn run(options: Options) -> Result<(), String> {
    // First, while nothing is open that could be mistaken for it.
    let passed = Listener::passed()?;
    server::may_have_descriptors(&options)?;
    ops::log::init(options.log_level, options.log_format);
    content::prompt(&options).inspect(|prompt| log::info!("{prompt}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(cannot("start"))?;
    runtime.block_on(serve(Arc::new(options), passed))
}

async fn serve(options: Arc<Options>, passed: Option<Listener>) -> Result<(), String> {
    let mut stop = Stop::new().map_err(cannot("take signals"))?;
    let certificate = match options.tls.clone() {
        Some(files) => Some(content::apart(move || Certificate::load(&files)).await?),
        None => None,
    };
    let Some(content) = content::load_unless(stop.next(), &options, server::has_memory(&options)).await?
    else {
        return Ok(());
    };
    let admin = options.admin.map(Admin::open).transpose()?;
    let listener = passed.map_or_else(|| Listener::bind(&options.host, options.port), Ok)?;
    let place = listener.place(options.tls.is_some());
    let mut server = Server::new(listener, &options, content, certificate)?;
    let manager = Notifier::from_env();
    sandbox::enter(&options)?;
    server.start()?;
    let mut reload = Reload::new(&options)?;
    reload.announce(&server);
    server.view().responses().content.news(&options, None).iter().for_each(|event| log::info!("{event}"));
    admin.map_or(Ok(()), |admin| admin.start(server.view().clone(), reload.counts.clone()))?;
    // A manager that does not read must not keep clients waiting.
    let beside = async {
        manager.ready().await;
        let greeting = access_log::greeting(options.access_log, &place, content::seconds(SystemTime::now()));
        stream::offer(&std::io::stdout(), &greeting);
        reload.run(&server, &manager).await
    };
    tokio::select! {
        biased;
        () = beside => (),
        served = server.run(stop.next()) => served?,
    }
    let drain = async { tokio::join!(manager.stopping(), server.drain()).1 };
    tokio::select! {
        drained = drain => drained,
        () = stop.next() => Err("stopped by a second signal before the drain was over".into()),
    }
}
