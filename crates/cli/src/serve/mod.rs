//! `cupo serve`: the gateway.

mod quick;
mod settings;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use cupo_config::{GatewaySource, UpstreamSource};
use cupo_core::{Clock, Engine, Policy, SystemClock};
use cupo_server::{AccessLog, Demo, Listeners, Running, Upstream, start_gateway};
use cupo_store_memory::MemoryStore;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::ServeArgs;
use crate::failure::Failure;
use crate::store;

pub(crate) fn run(args: &ServeArgs) -> Result<(), Failure> {
    start_log(args)?;
    let plan = Plan::from(args)?;
    let (upstream, demo) = plan.upstream()?;
    let listen = args.listen.or(plan.gateway.listen).unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8080)));

    let mut server = settings::server(&plan.gateway);
    let mut log_thread = None;
    if plan.gateway.access_log == Some(true) {
        let clock = SystemClock::new();
        let (log, thread) = AccessLog::start(io::stdout(), move || clock.now().as_micros())?;
        server.access_log = Some(log);
        log_thread = Some(thread);
    }
    let forward = settings::forward(&plan.gateway, upstream);
    let engine = Arc::new(Engine::new(plan.policy, plan.store));
    let listeners = Listeners::bind(&[listen], server.workers)?;
    let running = start_gateway(server, listeners, forward, Arc::clone(&engine))?;
    announce(&running, demo.as_ref()).map_err(Failure::Write)?;

    wait_for_the_end(&running, &engine)?;
    running.join()?;
    if let Some(thread) = log_thread {
        // It ends by itself once the last connection has let go of the log.
        let _ = thread.join();
    }
    Ok(())
}

/// What is to be served.
struct Plan {
    gateway: GatewaySource,
    upstream: Option<String>,
    policy: Arc<Policy>,
    store: MemoryStore,
}

impl Plan {
    fn from(args: &ServeArgs) -> Result<Self, Failure> {
        let upstream = args.upstream.clone();
        let Some(file) = &args.config else {
            let policy = quick::policy(&args.quick)?;
            return Ok(Self {
                gateway: GatewaySource::default(),
                upstream,
                policy,
                store: MemoryStore::new(),
            });
        };
        let config = cupo_config::load(file)?;
        let store = store::memory(&config.store, None)?;
        Ok(Self { gateway: config.gateway, upstream, policy: config.policy, store })
    }

    /// Where requests go; the options overrule the file.
    fn upstream(&self) -> Result<(Upstream, Option<Demo>), Failure> {
        let said = self.upstream.clone().or_else(|| match &self.gateway.upstream {
            Some(UpstreamSource::Demo) => Some("demo".to_owned()),
            said => said.as_ref().map(ToString::to_string),
        });
        match said.as_deref() {
            None => Err(Failure::Usage(
                "nothing says where requests go: write `upstream: http://HOST:PORT` in the policy, or --upstream URL (or --upstream demo)",
            )),
            Some("demo") => {
                let demo = Demo::start()?;
                Ok((demo.address().into(), Some(demo)))
            }
            Some(url) => Ok((url.parse()?, None)),
        }
    }
}

fn announce(running: &Running, demo: Option<&Demo>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for address in running.addresses() {
        writeln!(out, "cupo listens on http://{address}")?;
    }
    if let (Some(demo), Some(address)) = (demo, running.addresses().first()) {
        writeln!(out, "before the demo upstream on http://{}", demo.address())?;
        writeln!(out, "\nTry:\n  curl -i http://{address}/")?;
        writeln!(
            out,
            "  for i in $(seq 20); do curl -s -o /dev/null -w '%{{http_code}}\\n' http://{address}/; done"
        )?;
    }
    out.flush()
}

/// Sweeps the store until a signal asks to stop; a second signal does not wait for requests in flight.
fn wait_for_the_end(running: &Running, engine: &Engine<MemoryStore>) -> Result<(), Failure> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::Runtime)?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::Runtime)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(Failure::Runtime)?;
        let mut sweep = tokio::time::interval(settings::SWEEP_EVERY);
        loop {
            tokio::select! {
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
                _ = sweep.tick() => engine.store().sweep(engine.clock().now()),
            }
        }
        Ok::<(), Failure>(())
    })?;
    running.stop();
    // The signals' handlers are gone with the runtime, yet the process still catches them: give them their meaning back.
    exit_on_the_next_signal();
    Ok(())
}

/// From now on a signal ends the process at once.
fn exit_on_the_next_signal() {
    let wait = || -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let (mut interrupt, mut terminate) =
                (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            Ok(())
        })
    };
    std::thread::spawn(move || {
        if wait().is_ok() {
            #[allow(clippy::exit, reason = "whoever signals twice does not want to wait")]
            std::process::exit(130);
        }
    });
}

/// Logs of the server's go to stderr.
fn start_log(args: &ServeArgs) -> Result<(), Failure> {
    let log =
        tracing_subscriber::fmt().with_max_level(args.log.level()).with_writer(io::stderr).with_ansi(false);
    log.try_init().map_err(|_| Failure::Usage("the log is started already"))
}
