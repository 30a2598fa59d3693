//! Real proxies before the gateway: HAProxy with PROXY headers, nginx with fields.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::client::Response;
use crate::curl::curl;
use crate::process::{BOUND, Gateway, PolicyFile, now, wait};
use crate::upstream;

const TWO: &str = "rules:\n  - { name: two, key: ip, limit: 2/1000d }\n";

fn gateway(policy: &str) -> Gateway {
    Gateway::with_policy(&PolicyFile::new(&format!("{policy}\n{TWO}")), upstream::ok())
}

/// A proxy on a free port, with its folder; ends when dropped.
struct Proxy {
    child: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Proxy {
    /// Runs `program`, which reads its configuration from `{folder}/conf`, in which `LISTEN` and `FOLDER` are filled in.
    fn start(program: &str, arguments: impl Fn(&str) -> Vec<String>, conf: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let conf = conf.replace("LISTEN", &address.to_string()).replace("FOLDER", path);
        std::fs::write(folder.path().join("conf"), conf).unwrap();
        let mut command = Command::new(program);
        command.args(arguments(path)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child =
            command.spawn().unwrap_or_else(|_| panic!("{program} is not installed: see scripts/test.sh"));
        let mut proxy = Self { child, address, _folder: folder };
        let started = now();
        while TcpStream::connect(address).is_err() {
            assert!(proxy.child.try_wait().unwrap().is_none(), "{program} did not start");
            assert!(started.elapsed() < BOUND, "{program} does not listen");
            wait(Duration::from_millis(10));
        }
        proxy
    }

    fn haproxy(gateway: SocketAddr, before: &str, server: &str) -> Self {
        let conf = format!(
            "defaults\n  mode {before}\n  timeout connect 10s\n  timeout client 10s\n  timeout server 10s\n\
             listen main\n  bind LISTEN\n  server cupo {gateway} {server}\n"
        );
        Self::start(
            "haproxy",
            |folder| ["-db", "-f", &format!("{folder}/conf")].map(str::to_owned).into(),
            &conf,
        )
    }

    fn nginx(gateway: SocketAddr, settings: &str) -> Self {
        let conf = format!(
            "daemon off;\nmaster_process off;\npid FOLDER/pid;\nerror_log FOLDER/error.log;\nevents {{}}\nhttp {{\n\
             access_log off;\nclient_body_temp_path FOLDER/b;\nproxy_temp_path FOLDER/p;\nfastcgi_temp_path FOLDER/f;\n\
             uwsgi_temp_path FOLDER/u;\nscgi_temp_path FOLDER/s;\n\
             server {{ listen LISTEN; location / {{ proxy_pass http://{gateway}; {settings} }} }}\n}}\n"
        );
        Self::start(
            "nginx",
            |folder| ["-p", folder, "-c", &format!("{folder}/conf")].map(str::to_owned).into(),
            &conf,
        )
    }

    /// A request by a client at this address of the loopback network.
    fn ask(&self, client: &str, more: &[&str]) -> Response {
        let url = format!("http://{}/", self.address);
        curl(&[&["--interface", client, url.as_str()], more].concat())
    }

    fn statuses(&self, clients: &[&str], more: &[&str]) -> Vec<u16> {
        clients.iter().map(|client| self.ask(client, more).status).collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two clients, of which the first asks once too often; the gateway sees all from 127.0.0.1.
const CLIENTS: [&str; 4] = ["127.0.0.2", "127.0.0.2", "127.0.0.2", "127.0.0.3"];
const EXPECTED: [u16; 4] = [200, 200, 429, 200];
const FORGED: [&str; 4] = ["-H", "X-Forwarded-For: 203.0.113.9", "-H", "X-Real-IP: 203.0.113.9"];

#[test]
fn haproxy_says_who_connects() {
    for (version, send) in
        [("v1", "send-proxy"), ("v2", "send-proxy-v2"), ("any", "send-proxy-v2"), ("any", "send-proxy")]
    {
        let gateway = gateway(&format!("trusted_proxies: [127.0.0.1]\nproxy_protocol: {version}\n"));
        let proxy = Proxy::haproxy(gateway.address, "tcp", send);
        assert_eq!(proxy.statuses(&CLIENTS, &FORGED), EXPECTED, "{version} {send}");
    }
    // With checksums and whatever else the header may carry.
    let gateway = gateway("trusted_proxies: [127.0.0.1]\nproxy_protocol: v2\n");
    let proxy = Proxy::haproxy(gateway.address, "tcp", "send-proxy-v2 proxy-v2-options crc32c,unique-id");
    assert_eq!(proxy.statuses(&CLIENTS, &[]), EXPECTED);
}

#[test]
fn haproxy_checks_a_gateway_that_wants_headers() {
    let mut gateway = gateway("trusted_proxies: [127.0.0.1]\nproxy_protocol: v2\naccess_log: true\n");
    let checks = "send-proxy-v2 check inter 50ms check-send-proxy";
    let conf = "http\n  option httpchk GET /.cupo/health";
    let _proxy = Proxy::haproxy(gateway.address, conf, checks);
    gateway.line(|line| line.contains(r#""path":"/.cupo/health","status":200"#));
}

#[test]
fn haproxy_appends_to_the_list() {
    let gateway = gateway("trusted_proxies: [127.0.0.1]\n");
    let proxy = Proxy::haproxy(gateway.address, "http\n  option forwardfor", "");
    assert_eq!(proxy.statuses(&CLIENTS, &FORGED), EXPECTED);
}

#[test]
fn nginx_names_the_client_in_each_of_the_fields() {
    let forwarded =
        "proxy_set_header Forwarded \"$http_forwarded, for=$remote_addr;proto=http;host=\\\"$host\\\"\";";
    for (policy, settings) in [
        ("x-forwarded-for", "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"),
        ("x-real-ip", "proxy_set_header X-Real-IP $remote_addr;"),
        ("forwarded", forwarded),
    ] {
        let gateway = gateway(&format!("trusted_proxies: [127.0.0.1]\nclient_address_header: {policy}\n"));
        let proxy = Proxy::nginx(gateway.address, settings);
        let forged = [&FORGED[..], &["-H", "Forwarded: for=203.0.113.9;by=\""]].concat();
        assert_eq!(proxy.statuses(&CLIENTS, &forged), EXPECTED, "{policy}");
    }
}

#[test]
fn nginx_before_haproxy_before_the_gateway() {
    for policy in ["[127.0.0.1]", "{ hops: 2 }"] {
        let gateway = gateway(&format!("trusted_proxies: {policy}\nproxy_protocol: v2\n"));
        let haproxy = Proxy::haproxy(gateway.address, "tcp", "send-proxy-v2");
        let settings = "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;";
        let nginx = Proxy::nginx(haproxy.address, settings);
        assert_eq!(nginx.statuses(&CLIENTS, &FORGED), EXPECTED, "{policy}");
    }
}

#[test]
fn nginx_by_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let policy = PolicyFile::new(&format!("trusted_proxies: [unix]\nsocket_mode: 666\n{TWO}"));
    let upstream = format!("http://{}", upstream::ok());
    let on = format!("unix:{}", socket.display());
    let _gateway = Gateway::listening(&on, &["-c", &policy.path(), "--upstream", &upstream]);
    let conf = format!(
        "daemon off;\nmaster_process off;\npid FOLDER/pid;\nerror_log FOLDER/error.log;\nevents {{}}\nhttp {{\n\
         access_log off;\nclient_body_temp_path FOLDER/b;\nproxy_temp_path FOLDER/p;\nfastcgi_temp_path FOLDER/f;\n\
         uwsgi_temp_path FOLDER/u;\nscgi_temp_path FOLDER/s;\nserver {{ listen LISTEN; location / {{\n\
         proxy_pass http://{on}:/; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; }} }}\n}}\n"
    );
    let arguments = |folder: &str| ["-p", folder, "-c", &format!("{folder}/conf")].map(str::to_owned).into();
    let nginx = Proxy::start("nginx", arguments, &conf);
    assert_eq!(nginx.statuses(&CLIENTS, &FORGED), EXPECTED);
}
