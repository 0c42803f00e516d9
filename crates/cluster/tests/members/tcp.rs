//! Members joined by TCP: the same transfers, and peers that are hostile.

use super::bank::{PARTITIONS, Running, settings, transfers_survive};
use super::client::{Txn, key, number, value};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use scaledb_cluster::codec::{self, FORMAT};
use scaledb_cluster::membership::first_view;
use scaledb_cluster::tcp::{PeerTls, Tcp, TcpConfig};
use scaledb_cluster::{
    ClusterView, Founding, InMemory, Life, Member, MetadataStore, Network, NodeConfig, StartError, open,
};
use scaledb_scar::NodeId;
use scaledb_scar::link::Incarnation;
use scaledb_sync::{Arc, thread};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// An authority that makes certificates of nodes.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn certificate(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    fn node(&self, name: &str) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.der().clone(), PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())))
    }

    fn tls(&self, name: &str) -> PeerTls {
        let (certificate, key) = self.node(name);
        PeerTls::new(vec![self.certificate()], vec![certificate], key).unwrap()
    }
}

fn name(node: NodeId) -> String {
    format!("node-{}", node.0)
}

const LIFE: Incarnation = Incarnation(7);

/// A cluster whose members are joined by TCP; only the metadata store is of this process.
pub(crate) struct TcpCluster {
    authority: Authority,
    members: BTreeMap<NodeId, Arc<Member>>,
    networks: BTreeMap<NodeId, Arc<Tcp>>,
}

impl TcpCluster {
    fn start(nodes: u8) -> Self {
        let store = Arc::new(InMemory::new());
        Self::start_with(nodes, |_| store.clone())
    }

    /// Each member with its own way to the store.
    pub(crate) fn start_with<S: MetadataStore>(nodes: u8, store: impl Fn(NodeId) -> Arc<S>) -> Self {
        Self::start_through(nodes, store, |tcp| tcp)
    }

    /// What a member sends goes through what `way` makes of its connections.
    pub(crate) fn start_through<S: MetadataStore>(
        nodes: u8,
        store: impl Fn(NodeId) -> Arc<S>,
        way: impl Fn(Arc<Tcp>) -> Arc<dyn Network>,
    ) -> Self {
        let authority = Authority::new();
        let view = first_view(nodes, PARTITIONS as u16, 1);
        let networks: BTreeMap<NodeId, Arc<Tcp>> = view
            .members
            .iter()
            .map(|me| {
                let config = TcpConfig {
                    cluster: "tests".to_owned(),
                    me,
                    life: LIFE,
                    tls: authority.tls(&name(me)),
                    settings: settings(),
                };
                (me, Tcp::new(config, TcpListener::bind("127.0.0.1:0").unwrap()).unwrap())
            })
            .collect();
        let life = |(&node, tcp): (&NodeId, &Arc<Tcp>)| {
            (node, Life { incarnation: LIFE, name: name(node), address: tcp.address().to_string() })
        };
        let lives = networks.iter().map(life).collect();
        let first = ClusterView::first(view, lives);
        assert!(store(NodeId(0)).replace(None, &first).unwrap());
        let start = |(&node, tcp): (&NodeId, &Arc<Tcp>)| {
            (node, Member::start(settings(), node, LIFE, store(node), way(tcp.clone())).unwrap())
        };
        let members = networks.iter().map(start).collect();
        Self { authority, members, networks }
    }

    fn address(&self) -> SocketAddr {
        self.networks[&NodeId(0)].address()
    }

    /// The first of those that were not killed.
    pub(crate) fn first(&self) -> &Arc<Member> {
        self.members.values().next().unwrap()
    }

    pub(crate) fn end(&mut self, node: NodeId) {
        self.kill(node);
    }

    /// Whether the nodes still work together.
    pub(crate) fn works(&self) {
        for (i, member) in self.members.values().enumerate() {
            let i = i as u64;
            let mut session = member.session();
            loop {
                let mut txn = Txn::begin(&mut session).unwrap();
                let before = txn.get(&key(i, PARTITIONS, 9, "works")).unwrap().as_ref().map_or(0, number);
                txn.put(key(i, PARTITIONS, 9, "works"), value(before + 1)).unwrap();
                if txn.commit().is_ok() {
                    break;
                }
            }
        }
    }
}

impl Running for TcpCluster {
    fn running(&self) -> Vec<Arc<Member>> {
        self.members.values().cloned().collect()
    }

    fn kill(&mut self, node: NodeId) {
        self.members.remove(&node).unwrap().stop();
    }
}

#[test]
fn transfers_survive_a_member_over_tcp() {
    transfers_survive(&mut TcpCluster::start(3), NodeId(2));
}

#[test]
fn transfers_survive_the_leader_over_tcp() {
    transfers_survive(&mut TcpCluster::start(3), NodeId(0));
}

type Stream = StreamOwned<ClientConnection, TcpStream>;

/// Connects as a node would, with a certificate or without one.
fn dial(
    address: SocketAddr,
    trusted: &Authority,
    shown: Option<(CertificateDer<'static>, PrivateKeyDer<'static>)>,
) -> Stream {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.certificate()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match shown {
        Some((certificate, key)) => builder.with_client_auth_cert(vec![certificate], key).unwrap(),
        None => builder.with_no_client_auth(),
    };
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let name = ServerName::try_from(name(NodeId(0))).unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), socket)
}

type Ends = ((NodeId, Incarnation), (NodeId, Incarnation));

fn hello(format: u32, cluster: &str, (from, to): Ends) -> Vec<u8> {
    let mut bytes = b"SCALEDBn".to_vec();
    bytes.extend(format.to_le_bytes());
    codec::push_frame(&(cluster, from, to), &mut bytes).unwrap();
    bytes
}

/// What the node answers to a hello: 0 is "come", 1 a refusal with its reason.
fn greet(stream: &mut Stream, hello: &[u8]) -> io::Result<(u8, String)> {
    stream.write_all(hello)?;
    let mut start = [0; 12];
    stream.read_exact(&mut start)?;
    let mut buffer = Vec::new();
    codec::read_frame(stream, 4096, &mut buffer)?;
    Ok((buffer[0], String::from_utf8_lossy(&buffer[1..]).into_owned()))
}

fn is_closed(stream: &mut impl Read) -> bool {
    let mut byte = [0];
    !matches!(stream.read(&mut byte), Ok(1..))
}

#[test]
fn who_is_no_member_gets_nowhere() {
    let cluster = TcpCluster::start(2);
    let address = cluster.address();
    let (one, zero) = ((NodeId(1), LIFE), (NodeId(0), LIFE));
    let good = hello(FORMAT, "tests", (one, zero));

    // no TLS at all
    let mut plain = TcpStream::connect(address).unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    plain.write_all(&good).unwrap();
    let mut rest = Vec::new();
    let _ = plain.read_to_end(&mut rest);
    assert!(!rest.windows(8).any(|window| window == b"SCALEDBn"), "{rest:?}");

    // no certificate, or one of another authority
    assert!(greet(&mut dial(address, &cluster.authority, None), &good).is_err());
    let other = Authority::new().node(&name(NodeId(1)));
    assert!(greet(&mut dial(address, &cluster.authority, Some(other)), &good).is_err());

    // a certificate for another name
    let node = |name: &str| dial(address, &cluster.authority, Some(cluster.authority.node(name)));
    let (refused, why) = greet(&mut node("node-5"), &good).unwrap();
    assert!(refused == 1 && why.contains("certificate"), "{why}");

    // the right certificate, and the rest wrong
    for (bytes, word) in [
        (hello(FORMAT + 1, "tests", (one, zero)), "format"),
        (hello(FORMAT - 1, "tests", (one, zero)), "format"),
        (hello(FORMAT, "others", (one, zero)), "cluster"),
        (hello(FORMAT, "tests", ((NodeId(1), Incarnation(6)), zero)), "life"),
        (hello(FORMAT, "tests", (one, (NodeId(0), Incarnation(6)))), "life"),
        (hello(FORMAT, "tests", (one, (NodeId(1), LIFE))), "another node"),
        (hello(FORMAT, "tests", ((NodeId(60), LIFE), zero)), "member"),
        (hello(FORMAT, "tests", ((NodeId(200), LIFE), zero)), "member"),
        (hello(FORMAT, "tests", (zero, zero)), "member"),
    ] {
        let (refused, why) = greet(&mut node("node-1"), &bytes).unwrap();
        assert!(refused == 1 && why.contains(word), "{word}: {why}");
    }
    let mut huge = b"SCALEDBn".to_vec();
    huge.extend(FORMAT.to_le_bytes());
    huge.extend([0xFF; 4]);
    let (refused, _) = greet(&mut node("node-1"), &huge).unwrap();
    assert_eq!(refused, 1);
    let (refused, why) = greet(&mut node("node-1"), b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(refused == 1 && why.contains("not a node"), "{why}");
    cluster.works();
    assert_eq!(cluster.members[&NodeId(0)].view().view.members.count(), 2);
}

/// Many come and say nothing: they are let go, and others are let in.
#[test]
fn silent_connections_do_not_keep_others_out() {
    let cluster = TcpCluster::start(2);
    let silent: Vec<TcpStream> =
        (0..400).filter_map(|_| TcpStream::connect(cluster.address()).ok()).collect();
    cluster.works();
    drop(silent);
    cluster.works();
}

/// A member's certificate is in wrong hands, or the member is broken: what it sends leads to its being put out, and to
/// nothing else.
#[test]
fn a_member_that_sends_garbage_is_given_up() {
    let garbage: [(&str, Vec<u8>); 5] = [
        ("a huge length", [0xFF; 4].to_vec()),
        ("no message", [8, 0, 0, 0].into_iter().chain([0xEE; 8]).collect()),
        ("a frame that acknowledges what was not sent", {
            let mut bytes = Vec::new();
            // Wire::Linked(Frame { from, to, acknowledged, content: Acknowledgement })
            codec::push_frame(&(0u8, LIFE, Some(LIFE), u64::MAX, 1u8), &mut bytes).unwrap();
            bytes
        }),
        ("a letter about locks that is too long", {
            let mut bytes = Vec::new();
            let letter: Vec<u8> = std::iter::once(1).chain(vec![0; 3 << 20]).collect();
            codec::push_frame(
                &(0u8, LIFE, Some(LIFE), 0u64, (2u8, 1u64, codec::Bytes(letter.into()))),
                &mut bytes,
            )
            .unwrap();
            bytes
        }),
        ("a message that is none, in a frame", {
            let mut bytes = Vec::new();
            let content = (2u8, 1u64, codec::Bytes([0xEE; 9].as_slice().into()));
            codec::push_frame(&(0u8, LIFE, Some(LIFE), 0u64, content), &mut bytes).unwrap();
            bytes
        }),
    ];
    for (what, bytes) in garbage {
        let mut cluster = TcpCluster::start(3);
        cluster.works();
        // in the place of node 1
        cluster.networks.remove(&NodeId(1));
        cluster.kill(NodeId(1));
        let shown = cluster.authority.node("node-1");
        let mut stream = dial(cluster.address(), &cluster.authority, Some(shown));
        let hello = hello(FORMAT, "tests", ((NodeId(1), LIFE), (NodeId(0), LIFE)));
        if greet(&mut stream, &hello).unwrap().0 == 0 {
            stream.write_all(&bytes).unwrap();
            assert!(is_closed(&mut stream), "{what}");
        }
        let begin = Instant::now();
        while cluster.members.values().any(|member| member.view().view.members.count() > 2) {
            assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
            thread::sleep(Duration::from_millis(5));
        }
        cluster.works();
    }
}

/// Nodes that know only the store and their certificates come together, whichever comes first.
#[test]
fn nodes_found_a_cluster() {
    let authority = Authority::new();
    let store = Arc::new(InMemory::new());
    let founding = Founding { nodes: 3, failures: 1, partitions: PARTITIONS as u16 };
    // one that is not there any more must not be waited for, nor counted
    store.register("gone", "localhost:1").unwrap();
    let config = |name: &str, founding| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        NodeConfig {
            cluster: "tests".to_owned(),
            name: name.to_owned(),
            advertise: listener.local_addr().unwrap().to_string(),
            listener,
            tls: authority.tls(name),
            store: store.clone(),
            disk: None,
            backups: None,
            founding,
            settings: settings(),
        }
    };
    let wrong = Founding { failures: 3, ..founding };
    assert!(matches!(open(config("a", Some(wrong)), |_| true), Err(StartError::Store(_))));
    // alone it waits
    assert!(matches!(open(config("a", Some(founding)), |_| false), Err(StartError::NotNamed(_))));
    let opened: Vec<_> = thread::scope(|scope| {
        let threads = ["a", "b", "c"].map(|name| {
            let config = config(name, (name != "c").then_some(founding));
            scope.spawn(move || open(config, |_| true).unwrap())
        });
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (members, networks) = opened.into_iter().map(|(member, tcp)| ((member.node(), member), tcp)).unzip();
    let members: BTreeMap<NodeId, Arc<Member>> = members;
    let networks: Vec<Arc<Tcp>> = networks;
    assert!(!members.contains_key(&NodeId(0)));
    let networks = members.keys().copied().zip(networks).collect();
    TcpCluster { authority, members, networks }.works();
}
