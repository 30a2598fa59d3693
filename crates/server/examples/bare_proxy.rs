//! The forwarder alone, without a limiter: what `scripts/bench-gateway.sh` compares with nginx.
//!
//! `bare_proxy LISTEN UPSTREAM [WORKERS]`, for example `bare_proxy 127.0.0.1:8080 127.0.0.1:9000 1`. It runs until killed.

use std::net::SocketAddr;
use std::num::NonZeroUsize;

use cupo_server::{ForwardSettings, Forwarder, Listeners, ServerSettings, Upstream, serve};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let listen: SocketAddr = arguments.next().ok_or("say where to listen")?.parse()?;
    let upstream: Upstream = arguments.next().ok_or("say where to forward to")?.parse()?;
    let mut settings = ServerSettings::default();
    if let Some(workers) = arguments.next() {
        settings.workers = workers.parse::<NonZeroUsize>()?;
    }
    let listeners = Listeners::bind(&[listen], settings.workers)?;
    let forward = ForwardSettings::new(upstream);
    serve(settings, listeners, move |worker| Forwarder::new(forward.clone(), worker))?.join()?;
    Ok(())
}
