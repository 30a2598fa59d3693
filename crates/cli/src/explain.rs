//! `cupo explain`: what would become of a request, and why.

use std::fs;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cupo_config::{Config, ProxyProtocol, StoreSource};
use cupo_core::Engine;
use cupo_http::{ExplainedRequest, Question};
use cupo_store_redis::RedisStore;
use cupo_tower::{Answers, CupoLayer};
use http::Method;

use crate::admin::client::Client;
use crate::admin::refusal;
use crate::args::{ExplainArgs, ReachArgs};
use crate::failure::Failure;
use crate::jwt::Tokens;
use crate::presentation;
use crate::serve::{health_path, status_path};
use crate::store::{self, AnyStore};

/// How long the store may take: nobody is waiting for this request.
const DEADLINE: Duration = Duration::from_secs(5);

/// The most bytes of headers that are read from a file.
const MAX_HEADERS: u64 = 1 << 20;

pub(crate) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let question = question(args)?;
    let explained = match (reach(args), &args.config) {
        (Some(reach), _) => remotely(&reach, &question)?,
        (None, Some(file)) => locally(args, file, question)?,
        // The options say so before.
        (None, None) => return Err(Failure::Usage("write -c FILE or --admin URL")),
    };
    print(&explained, args.json)
}

/// The gateway that is to be asked, if one is.
fn reach(args: &ExplainArgs) -> Option<ReachArgs> {
    args.admin.clone().map(|url| ReachArgs {
        url,
        token_env: args.token_env.clone(),
        ca_file: args.ca_file.clone(),
        cert_file: args.cert_file.clone(),
        key_file: args.key_file.clone(),
    })
}

/// Asks the gateway that runs.
fn remotely(reach: &ReachArgs, question: &Question) -> Result<ExplainedRequest, Failure> {
    let client = Client::new(reach)?;
    let body = serde_json::to_vec(question).map_err(|error| Failure::Write(error.into()))?;
    let answer = client.ask(Method::POST, "/v1/explain", Some(body))?;
    if answer.status != 200 {
        return Err(refusal(answer.status, &answer.body));
    }
    serde_json::from_slice(&answer.body).map_err(|error| Failure::Admin {
        status: answer.status,
        detail: format!("its answer is not understood: {error}").into(),
    })
}

/// Explains under the policy file, on a store that is looked at and no more.
fn locally(args: &ExplainArgs, file: &Path, mut question: Question) -> Result<ExplainedRequest, Failure> {
    let config = cupo_config::load(file)?;
    let tokens = Tokens::open(&config)?;
    let mut answers = Answers::default().presentation(Arc::new(presentation::of(&config)?));
    if let Some(path) = status_path(&config.gateway) {
        answers = answers.status_at(path);
    }
    if let Some(path) = health_path(&config.gateway) {
        answers = answers.health_at(&path);
    }
    if let Some(tokens) = &tokens {
        answers = answers.identify_by(tokens.verifier.clone());
    }
    question.relayed = config.gateway.proxy_protocol.is_some_and(|protocol| protocol != ProxyProtocol::Off)
        && question.peer.as_deref() != Some("unix");
    let runtime = store::runtime().map_err(Failure::Runtime)?;
    runtime.block_on(async {
        let store = open_store(args, &config).await?;
        let layer = CupoLayer::new(Arc::new(Engine::new(Arc::clone(&config.policy), store))).answers(answers);
        layer.reload_handle().explain(&question).await.map_err(Failure::Question)
    })
}

/// The store that is looked at. It answers, or there is nothing to say.
async fn open_store(args: &ExplainArgs, config: &Config) -> Result<AnyStore, Failure> {
    let named = store::named(&args.store);
    let mut redis = match (args.connect, &config.store, &named) {
        (true, StoreSource::Redis(redis), _) => {
            store::settings(redis).map_err(|error| error.within(config))?
        }
        (true, ..) => {
            return Err(Failure::Usage(
                "--connect: the policy keeps its counters in the memory of the gateway that runs, where nobody else sees them; without it they are shown as they begin",
            ));
        }
        (false, _, StoreSource::Redis(redis)) => store::settings(redis)?,
        (false, ..) => return Ok(AnyStore::open(&named, None)?),
    };
    redis.deadline = redis.deadline.max(DEADLINE);
    RedisStore::try_connection(&redis).await.map_err(Failure::Connect)?;
    Ok(AnyStore::Redis(RedisStore::new(redis).map_err(store::NoStore::Redis)?))
}

/// The request that the options make.
fn question(args: &ExplainArgs) -> Result<Question, Failure> {
    let mut question = Question {
        method: Some(args.method.clone()),
        host: args.host.clone(),
        peer: Some(args.peer.clone()),
        body_bytes: args.body_bytes,
        ..Question::about(&args.path)
    };
    for header in &args.header {
        match header.strip_prefix('@') {
            None => add(header, &mut question)?,
            Some(file) => {
                read(file)?
                    .lines()
                    .filter(|line| !line.trim().is_empty())
                    .try_for_each(|line| add(line, &mut question))?;
            }
        }
    }
    // What is no request is told before any file is looked at.
    question.head().and(question.peer().map(|_| ())).map_err(Failure::Question)?;
    Ok(question)
}

fn add(line: &str, question: &mut Question) -> Result<(), Failure> {
    let Some((name, value)) = line.split_once(':') else {
        return Err(Failure::Usage("--header: write a name, a colon and a value, as in 'x-api-key: k1'"));
    };
    question.add_header(&name.trim().to_ascii_lowercase(), value.trim());
    Ok(())
}

fn read(file: &str) -> Result<String, Failure> {
    let mut text = String::new();
    if file == "-" {
        io::stdin().lock().take(MAX_HEADERS).read_to_string(&mut text).map_err(Failure::Read)?;
        return Ok(text);
    }
    let path = PathBuf::from(file);
    let read = fs::File::open(&path).and_then(|file| file.take(MAX_HEADERS).read_to_string(&mut text));
    read.map(|_| text).map_err(|source| Failure::Input { path, source })
}

fn print(explained: &ExplainedRequest, json: bool) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = if json {
        serde_json::to_writer_pretty(&mut out, explained)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out))
    } else {
        write!(out, "{explained}")
    };
    written.and_then(|()| out.flush()).map_err(Failure::Write)
}
