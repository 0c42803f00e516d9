//! Clients that speak to servers by TLS.
//!
//! `make test-occult` builds the module and runs this. Elsewhere the tests say that they are skipped.

mod support;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use scaledb_occult_client::{Client, Error, Options, Tls};
use scaledb_occult_lab::{Lab, Shape, free_port};
use std::path::Path;

/// An authority that makes certificates of servers and clients.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        // a name of its own: who is named like his authority is taken to have signed for himself
        params.distinguished_name.push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate of who is reached at this address, and its key.
    fn identity(&self) -> (Vec<u8>, Vec<u8>) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem().into_bytes(), key.serialize_pem().into_bytes())
    }

    fn pem(&self) -> Vec<u8> {
        self.0.pem().into_bytes()
    }
}

/// One server with all slots, and the port at which it speaks TLS, to those that have a certificate.
fn server(authority: &Authority, files: &Path) -> Option<(Lab, u16)> {
    let port = free_port().unwrap();
    let (certificate, key) = authority.identity();
    let mut options = scaledb_occult_lab::Options {
        shape: Shape { masters: 1, replicas: false },
        ..scaledb_occult_lab::Options::default()
    };
    options.lines.push(format!("tls-port {port}"));
    options.lines.push(format!("cluster-announce-tls-port {port}"));
    options.lines.push("tls-auth-clients yes".to_owned());
    // only then the cluster names its ports for TLS
    options.lines.push("tls-cluster yes".to_owned());
    let contents = [("cert-file", certificate), ("key-file", key), ("ca-cert-file", authority.pem())];
    for (setting, text) in contents {
        std::fs::write(files.join(setting), text).unwrap();
        options.lines.push(format!("tls-{setting} {}", files.join(setting).display()));
    }
    if options.module.is_none() || scaledb_occult_lab::server().is_none() {
        return support::lab(&options).map(|lab| (lab, port));
    }
    match Lab::start(&options) {
        Ok(lab) => Some((lab, port)),
        // a server that somebody has named may be built without TLS; the one of the system is not, so that this is
        // never skipped in `make test`
        Err(error)
            if error.to_string().contains("Bad directive")
                && std::env::var_os("SCALEDB_REDIS_SERVER").is_some() =>
        {
            support::say("SKIPPED: SCALEDB_REDIS_SERVER is built without TLS");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn servers_and_clients_prove_who_they_are() {
    let (authority, files) = (Authority::new(), tempfile::tempdir().unwrap());
    let Some((_lab, port)) = server(&authority, files.path()) else { return };
    let options = |tls: Tls| {
        let mut options = Options::new([format!("rediss://127.0.0.1:{port}")]);
        options.tls = tls;
        // what a connection reads of the system's certificates takes its time beside other tests
        options.connect_timeout = std::time::Duration::from_secs(30);
        options
    };
    let known = || Tls { authorities: Some(authority.pem()), identity: Some(authority.identity()) };
    support::run(async {
        let client = Client::connect(options(known())).await.unwrap();
        let mut session = client.session();
        session.set("key", "value").await.unwrap();
        assert_eq!(session.get("key").await.unwrap().as_deref(), Some(b"value".as_slice()));
        session
            .transaction(|transaction| async move {
                transaction.set("a", "1").await?;
                transaction.set("b", "2").await
            })
            .await
            .unwrap();
        assert_eq!(session.get("b").await.unwrap().as_deref(), Some(b"2".as_slice()));
        // a server of an authority that is not known here, and a client that the server does not know
        let stranger = Authority::new();
        for tls in [
            Tls { authorities: Some(stranger.pem()), ..known() },
            Tls { identity: Some(stranger.identity()), ..known() },
            Tls { identity: None, ..known() },
            Tls { authorities: None, ..known() },
        ] {
            let refused = Client::connect(options(tls.clone())).await;
            assert!(matches!(refused, Err(Error::NoServer(_))), "{tls:?}: {:?}", refused.err());
        }
        // plain text to the port for TLS
        let plain = Client::connect(Options::new([format!("redis://127.0.0.1:{port}")])).await;
        assert!(matches!(plain, Err(Error::NoServer(_))), "{:?}", plain.err());
        // one way to speak with all of them
        let mixed = [format!("redis://127.0.0.1:{port}"), format!("rediss://127.0.0.1:{port}")];
        let refused = Client::connect(Options { seeds: mixed.to_vec(), ..options(known()) }).await;
        assert!(matches!(refused, Err(Error::Address(_))), "{:?}", refused.err());
        // what is no certificate is said so
        let cut = |mut pem: Vec<u8>| {
            pem.truncate(pem.len() / 2);
            pem
        };
        for junk in [
            Tls { identity: Some((b"junk".to_vec(), b"junk".to_vec())), ..known() },
            Tls { authorities: Some(b"junk".to_vec()), ..known() },
            Tls { authorities: Some(Vec::new()), ..known() },
            Tls { authorities: Some(cut(authority.pem())), ..known() },
        ] {
            let refused = Client::connect(options(junk)).await;
            assert!(matches!(refused, Err(Error::Certificates(_))), "{:?}", refused.err());
        }
    });
}

/// A process that ends in this time, or is killed.
fn output_within(command: &mut std::process::Command, limit: std::time::Duration) -> std::process::Output {
    use std::process::Stdio;
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let end = std::time::Instant::now() + limit;
    // it says little: the pipes do not fill
    while child.try_wait().unwrap().is_none() {
        if std::time::Instant::now() > end {
            child.kill().unwrap();
            panic!("it does not end: {:?}", child.wait_with_output());
        }
        scaledb_sync::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn python_speaks_to_servers_by_tls() {
    let Some(python) = std::env::var_os("SCALEDB_OCCULT_PYTHON") else {
        support::say("SKIPPED: no SCALEDB_OCCULT_PYTHON (make test-occult sets it where there is a Python)");
        return;
    };
    let (authority, files) = (Authority::new(), tempfile::tempdir().unwrap());
    let Some((_lab, port)) = server(&authority, files.path()) else { return };
    let script = "import occult, os, sys\n\
        port, ca, certificate, key = sys.argv[1:]\n\
        read = lambda name: open(name, 'rb').read()\n\
        known = dict(authorities=read(ca), certificate=read(certificate), key=read(key))\n\
        session = occult.Client(['rediss://127.0.0.1:' + port], **known).session()\n\
        session.set('key', 'value')\n\
        assert session.get('key') == b'value'\n\
        for less in [dict(known, authorities=None), dict(known, certificate=None, key=None)]:\n    \
            try:\n        occult.Client(['rediss://127.0.0.1:' + port], **less)\n    \
            except occult.Error:\n        continue\n    \
            raise AssertionError('no error')\n\
        for wrong in [dict(certificate=known['certificate']), dict(known, authorities=b'junk')]:\n    \
            try:\n        occult.Client(['rediss://127.0.0.1:' + port], **wrong)\n    \
            except ValueError:\n        continue\n    \
            raise AssertionError('no error')\n\
        print('ok')\n";
    let mut command = std::process::Command::new(python);
    command
        .args(["-c", script, &port.to_string()])
        .args(["ca-cert-file", "cert-file", "key-file"].map(|name| files.path().join(name)));
    let output = output_within(&mut command, std::time::Duration::from_secs(120));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.trim() == "ok", "{out}\n{err}");
}
