//! A tiny upstream to try the gateway with: answers every request with a bit of JSON.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use serde::Serialize;

use crate::edge::RequestBody;
use crate::error::Error;
use crate::listener::Listeners;
use crate::runtime::{Running, serve};
use crate::settings::ServerSettings;

/// The demo upstream, on a free port of the loopback interface; it ends when dropped.
#[derive(Debug)]
pub struct Demo {
    address: SocketAddr,
    _running: Running,
}

impl Demo {
    /// Starts it on a thread of its own.
    ///
    /// # Errors
    ///
    /// If it cannot listen or its thread cannot be started.
    pub fn start() -> Result<Self, Error> {
        let listeners = Listeners::bind(&[SocketAddr::from((Ipv4Addr::LOCALHOST, 0))], NonZeroUsize::MIN)?;
        let address = listeners.addresses().first().copied().ok_or(Error::NoAddress)?;
        let settings =
            ServerSettings { workers: NonZeroUsize::MIN, health_path: None, ..ServerSettings::default() };
        let served = Arc::new(AtomicU64::new(0));
        let running = serve(settings, listeners, move |_| Answer { served: Arc::clone(&served) })?;
        Ok(Self { address, _running: running })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

#[derive(Debug, Clone)]
struct Answer {
    served: Arc<AtomicU64>,
}

#[derive(Serialize)]
struct Document<'a> {
    method: &'a str,
    path: &'a str,
    served: u64,
}

impl tower_service::Service<Request<RequestBody>> for Answer {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let served = self.served.fetch_add(1, Ordering::Relaxed) + 1;
        let document = Document { method: request.method().as_str(), path: request.uri().path(), served };
        // Two strings and a number always serialise.
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let mut response = Response::new(Full::from(body));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        ready(Ok(response))
    }
}
