//! Many sessions at once, each with connections of its own: so servers have so much to do that what they take when idle
//! hardly counts, and the distance between the datacenters holds up no one but the session that waits.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use scaledb_occult::client::{Config, Event, Failure, Operation, Session, Step, Target};
use scaledb_occult::wire::{Command, Reply};
use scaledb_occult::{Rule, Shape, Slot, Value, slot_of};
use scaledb_workloads::rng::Rng;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{MASTERS, Unmeasured, content, key, now};
use crate::Keys;
use crate::keys::group_of;

/// What sessions speak to, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Plain Redis.
    Plain,
    /// The module.
    Checked,
    /// The module, and reads are never taken for stale: without beats most would be.
    Unchecked,
}

/// What each session does.
pub(super) struct Plan {
    /// Where each server is reached from each datacenter; masters come first.
    pub(super) addresses: [Vec<SocketAddr>; 2],
    pub(super) kind: Kind,
    pub(super) operations: usize,
    pub(super) keys: u64,
    /// Of 100 operations.
    pub(super) writes: u64,
    pub(super) seed: u64,
}

/// What the sessions have counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) stale: u64,
    pub(super) reads: u64,
    /// How often a read was asked again.
    pub(super) repeated: u64,
}

/// Runs that many sessions, half of them in each datacenter, to their ends.
pub(super) fn run(plan: Plan, sessions: usize) -> Result<Counted, Unmeasured> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let plan = Arc::new(plan);
    runtime.block_on(async {
        let mut running = JoinSet::new();
        for at in 0..sessions {
            let member = Member::connect(Arc::clone(&plan), at).await?;
            running.spawn(member.run());
        }
        let mut all = Counted::default();
        while let Some(one) = running.join_next().await {
            let one = one.map_err(|error| Unmeasured::Failed(error.to_string()))??;
            all.stale += one.stale;
            all.reads += one.reads;
            all.repeated += one.repeated;
        }
        Ok(all)
    })
}

struct Member {
    plan: Arc<Plan>,
    at: usize,
    /// To each server.
    connections: Vec<Connection>,
}

impl Member {
    async fn connect(plan: Arc<Plan>, at: usize) -> Result<Self, Unmeasured> {
        let mut connections = Vec::new();
        for address in &plan.addresses[at % 2] {
            let socket = TcpStream::connect(address).await?;
            socket.set_nodelay(true)?;
            let mut connection = Connection { socket, request: Vec::new(), reply: Vec::new() };
            // to a master it means nothing
            connection.ask(&[b"READONLY"]).await?.map_err(Unmeasured::Failed)?;
            connections.push(connection);
        }
        Ok(Self { plan, at, connections })
    }

    async fn run(mut self) -> Result<Counted, Unmeasured> {
        let plan = Arc::clone(&self.plan);
        let mut random = Rng::new(plan.seed, self.at as u64);
        let mut config = Config::default();
        if plan.kind == Kind::Unchecked {
            config.rules = config.rules.without(Rule::StaleReadsAreRetried);
        }
        let mut state = Session::new(Shape::Isolated(2), config, self.at as u64 + 1);
        let keys = Keys::new(plan.keys, true);
        for _ in 0..plan.operations {
            let key = key(keys.rank(&mut random), plan.keys);
            let write = random.below(100) < plan.writes;
            match (plan.kind != Kind::Plain, write) {
                (true, true) => {
                    let change = state.change(key, Some(content()));
                    self.drive(&mut state, change).await?;
                }
                (true, false) => {
                    let read = state.read(vec![key]);
                    self.drive(&mut state, read).await?;
                }
                (false, _) => self.plain(&key, write).await?,
            }
        }
        let counted = state.metrics();
        let repeated = counted.local_retries + counted.fallbacks;
        Ok(Counted { stale: counted.stale_reads, reads: counted.reads, repeated })
    }

    /// The master of a key, or the copy in this datacenter; whether it is the master.
    fn of(&mut self, slot: Slot, to: Target) -> (bool, &mut Connection) {
        let masters = usize::from(MASTERS);
        let group = group_of(slot, masters);
        let is_master = to == Target::Master || group % 2 == self.at % 2;
        (is_master, &mut self.connections[group + if is_master { 0 } else { masters }])
    }

    async fn plain(&mut self, key: &Value, write: bool) -> Result<(), Unmeasured> {
        let to = if write { Target::Master } else { Target::Nearest };
        let (_, connection) = self.of(slot_of(key), to);
        let answer = match write {
            true => connection.ask(&[b"SET", key, &content()]).await?,
            false => connection.ask(&[b"GET", key]).await?,
        };
        answer.map(|_| ()).map_err(Unmeasured::Failed)
    }

    /// Runs an operation to its end.
    async fn drive<O: Operation>(
        &mut self,
        session: &mut Session,
        mut operation: O,
    ) -> Result<(), Unmeasured> {
        let mut event = Event::Start;
        loop {
            event = match operation.step(&mut session.view(), now(), event) {
                Step::Done(Ok(_)) => return Ok(()),
                Step::Done(Err(error)) => return Err(Unmeasured::Failed(error.to_string())),
                Step::Wait => return Err(Unmeasured::Failed("an operation waits for nothing".to_owned())),
                Step::Sleep(pause) => {
                    tokio::time::sleep(Duration::from_micros(pause.0)).await;
                    Event::Wake
                }
                Step::Ask(asks) => {
                    // single operations ask one at a time
                    let [ask] = &asks[..] else {
                        return Err(Unmeasured::Failed("several questions".to_owned()));
                    };
                    let (from_master, connection) = self.of(ask.command.slot(), ask.to);
                    Event::Answer {
                        tag: ask.tag,
                        from_master,
                        answer: connection.command(&ask.command).await?,
                    }
                }
            };
        }
    }
}

struct Connection {
    socket: TcpStream,
    request: Vec<u8>,
    reply: Vec<u8>,
}

impl Connection {
    async fn command(&mut self, command: &Command) -> Result<Result<Reply, Failure>, Unmeasured> {
        let arguments = command.to_args();
        let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
        Ok(match self.ask(&arguments).await? {
            Ok(bytes) => Ok(Reply::from_bytes(bytes).map_err(|error| Unmeasured::Failed(error.to_string()))?),
            Err(text) => Err(Failure::Refused(text.parse().map_err(|_| Unmeasured::Failed(text))?)),
        })
    }

    /// Sends a command and waits for its reply: a string, or the text of an error.
    async fn ask(&mut self, arguments: &[&[u8]]) -> Result<Result<&[u8], String>, Unmeasured> {
        self.request.clear();
        self.request.extend(format!("*{}\r\n", arguments.len()).as_bytes());
        for argument in arguments {
            self.request.extend(format!("${}\r\n", argument.len()).as_bytes());
            self.request.extend_from_slice(argument);
            self.request.extend(b"\r\n");
        }
        self.socket.write_all(&self.request).await?;
        self.reply.clear();
        loop {
            if self.socket.read_buf(&mut self.reply).await? == 0 {
                return Err(Unmeasured::Failed("a server has closed a connection".to_owned()));
            }
            let Some(line) = self.reply.windows(2).position(|two| two == b"\r\n") else { continue };
            let text = String::from_utf8_lossy(&self.reply[1..line]).into_owned();
            match self.reply[0] {
                b'-' => return Ok(Err(text)),
                b'$' => {
                    // no value is a string of no bytes here
                    let length: usize = text.parse().unwrap_or(0);
                    let begin = line + 2;
                    if length == 0 || self.reply.len() >= begin + length + 2 {
                        return Ok(Ok(&self.reply[begin..begin + length]));
                    }
                }
                _ => return Ok(Ok(&self.reply[1..line])),
            }
        }
    }
}
