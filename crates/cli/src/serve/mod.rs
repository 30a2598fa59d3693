//! `cupo serve`: the gateway.

pub(crate) mod admin;
mod alarm;
mod blocks;
mod control;
mod quick;
mod reload;
mod settings;
mod signals;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use cupo_config::{GatewaySource, ListenSource, StoreSource, UpstreamSource};
use cupo_core::{Clock, Engine, Policy, SystemClock};
use cupo_server::{
    AUDIT_TARGET, AccessLog, Demo, Forwarding, Listeners, Nearest, PolicyReporter, Running, StoreReporter,
    Upstream, start_gateway,
};
use cupo_store_memory::MemoryStore;
use cupo_tower::{Answers, CupoLayer};

use tokio::runtime::Runtime;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::args::ServeArgs;
use crate::failure::Failure;
use crate::store::{self, AnyStore};
use alarm::Alarm;
use control::Controlled;
pub(crate) use reload::LIVE;
use reload::{Candidate, Reloader, Started};
pub(crate) use settings::{health_path, status_path};
use signals::Signals;

pub(crate) fn run(args: &ServeArgs) -> Result<(), Failure> {
    start_log(args)?;
    // A store in Redis works on a thread of its own, which has to outlive the last request.
    let runtime = store::runtime().map_err(Failure::Runtime)?;
    let plan = Plan::from(args, &runtime)?;
    let (upstream, demo) = plan.upstream()?;
    let listen = args.listen.clone().or_else(|| plan.gateway.listen.clone());
    let mode = plan.gateway.socket_mode.unwrap_or(settings::SOCKET_MODE);

    let mut server = settings::server(&plan.gateway);
    let mut log_thread = None;
    if plan.gateway.access_log == Some(true) {
        let clock = SystemClock::new();
        let (log, thread) = AccessLog::start(io::stdout(), move || clock.now().as_micros())?;
        server.access_log = Some(log);
        log_thread = Some(thread);
    }
    let forward = Forwarding::new(settings::forward(&plan.gateway, upstream.clone()));
    let nearest = plan.admin.is_some().then(Arc::<Nearest>::default);
    let alarm = Arc::new(Alarm::new(nearest.clone()));
    server.store_reporter = plan.store.redis().cloned().map(|store| {
        let alarm = Arc::clone(&alarm);
        StoreReporter::new(move || alarm.report(store.health().disconnected == 0))
    });
    // Memory of this node's for rules that decide by themselves when the store cannot: the next policy may have some.
    let local = plan.store.redis().map(|_| Arc::new(MemoryStore::new()));
    let mut engine = Engine::new(plan.policy, plan.store).with_observer(alarm);
    if let Some(local) = local.clone() {
        engine = engine.with_fallback(local);
    }
    let engine = Arc::new(engine);
    let layer = CupoLayer::new(Arc::clone(&engine)).answers(plan.answers);
    let reloader = Arc::new(match (plan.first, &args.config) {
        (Some(first), Some(file)) => {
            let started = Started::with(&first, upstream, overruled(args));
            Reloader::of_file(layer.reload_handle(), forward.clone(), file.clone(), first, started)
        }
        _ => Reloader::fixed(layer.reload_handle(), forward.clone()),
    });
    if reloader.has_file() {
        let reloader = Arc::clone(&reloader);
        server.policy_reporter = Some(PolicyReporter::new(move || reloader.report()));
    }
    let listeners = match listen {
        Some(ListenSource::Unix(path)) => Listeners::bind_unix(&path, mode, server.workers)?,
        Some(ListenSource::Tcp(address)) => Listeners::bind(&[address], server.workers)?,
        _ => Listeners::bind(&[SocketAddr::from(([127, 0, 0, 1], 8080))], server.workers)?,
    };
    let admin = plan.admin.map(admin::Said::bind).transpose()?;
    // Before anybody can know that we are here, and stop us.
    let mut signals = Signals::catch(reloader.has_file()).map_err(Failure::Runtime)?;
    blocks::follow(&engine, &runtime);
    let handle = layer.reload_handle();
    let running = start_gateway(server, listeners, forward, layer)?;
    let control = Arc::new(Controlled { reloader: Arc::clone(&reloader) });
    let admin = admin.map(|admin| admin.start(handle, nearest.unwrap_or_default(), control)).transpose()?;
    let url = admin.as_ref().map(admin::Answering::url);
    // The access log has stdout to itself: it is for programs to read.
    let announced = if log_thread.is_some() {
        announce(&running, demo.as_ref(), url.as_deref(), &mut io::stderr().lock())
    } else {
        announce(&running, demo.as_ref(), url.as_deref(), &mut io::stdout().lock())
    };
    if let Err(error) = announced {
        tracing::warn!(%error, "nobody could be told where cupo listens");
    }

    let mut looks = 0_u32;
    signals.wait(|asked| {
        let soon = if asked {
            reloader.look_at_once();
            false
        } else {
            reloader.look()
        };
        looks = looks.wrapping_add(1);
        if looks.is_multiple_of(settings::SWEEP_EVERY) {
            let memory = engine.store().memory().into_iter().chain(local.as_deref());
            memory.for_each(|store| store.sweep(engine.clock().now()));
        }
        if soon { settings::LOOK_AGAIN } else { settings::LOOK_EVERY }
    });
    admin.into_iter().for_each(admin::Answering::stop);
    running.stop();
    signals.exit_on_the_next();
    running.join()?;
    if let Some(thread) = log_thread {
        // It ends by itself once the last connection has let go of the log.
        let _ = thread.join();
    }
    Ok(())
}

/// The fields of the policy file that options overrule.
fn overruled(args: &ServeArgs) -> Vec<&'static str> {
    let said = [
        ("listen", args.listen.is_some()),
        ("upstream", args.upstream.is_some()),
        ("store", args.store.is_some()),
    ];
    said.into_iter().filter(|(_, is_said)| *is_said).map(|(field, _)| field).collect()
}

/// What is to be served.
struct Plan {
    gateway: GatewaySource,
    upstream: Option<String>,
    policy: Arc<Policy>,
    answers: Answers,
    store: AnyStore,
    admin: Option<admin::Said>,
    /// The policy of a file.
    first: Option<Candidate>,
}

impl Plan {
    fn from(args: &ServeArgs, runtime: &Runtime) -> Result<Self, Failure> {
        let _within = runtime.enter();
        let upstream = args.upstream.clone();
        let Some(file) = &args.config else {
            let policy = quick::policy(&args.quick)?;
            let source = args.store.as_deref().map_or_else(StoreSource::default, store::named);
            let store = AnyStore::open(&source, None)?;
            let (gateway, answers) = (GatewaySource::default(), Answers::default());
            let answers = status_path(&gateway).map_or(answers.clone(), |path| answers.status_at(path));
            return Ok(Self { gateway, upstream, policy, answers, store, admin: None, first: None });
        };
        let mut first = Candidate::load(file, None)?;
        let admin = first.admin.take();
        let config = &first.config;
        let store = match &args.store {
            Some(name) => AnyStore::open(&store::named(name), None)?,
            None => AnyStore::open(&config.store, None).map_err(|error| error.within(config))?,
        };
        let (gateway, policy) = (config.gateway.clone(), Arc::clone(&config.policy));
        let answers = first.answers.clone();
        Ok(Self { gateway, upstream, policy, answers, store, admin, first: Some(first) })
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

fn announce(
    running: &Running,
    demo: Option<&Demo>,
    admin: Option<&str>,
    out: &mut impl Write,
) -> io::Result<()> {
    for address in running.addresses() {
        writeln!(out, "cupo listens on http://{address}")?;
    }
    if let Some(path) = running.socket_path() {
        writeln!(out, "cupo listens on unix:{}", path.display())?;
    }
    if let Some(url) = admin {
        writeln!(out, "cupo answers administrators on {url}")?;
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

/// Logs of the server's go to stderr; what administrators change is told whatever the level.
fn start_log(args: &ServeArgs) -> Result<(), Failure> {
    let level = args.log.level();
    let targets = Targets::new().with_default(level).with_target(AUDIT_TARGET, level.max(Level::INFO));
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(false);
    let log = tracing_subscriber::registry().with(lines.with_filter(targets));
    log.try_init().map_err(|_| Failure::Usage("the log is started already"))
}
