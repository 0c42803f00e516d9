//! What a machine is like: cores, caches, and what an access costs.

use crate::directory::MAX_CORES;

/// What accesses cost, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// The instructions that go with an access to another line than the one before.
    pub work: f64,
    /// The instructions that go with an access to the same line again.
    pub same_line: f64,
    /// A line of the core's own L2.
    pub l2: f64,
    /// A clean line of the last-level cache that the core belongs to.
    pub llc: f64,
    /// A line that another core of the same last-level cache has changed.
    pub near: f64,
    /// A line in, or below, another last-level cache of the same socket.
    pub far: f64,
    /// A line in, or below, another socket's last-level cache.
    pub remote: f64,
    /// The socket's own memory.
    pub memory: f64,
    /// Another socket's memory.
    pub remote_memory: f64,
    /// A line that many cores write goes from one to the next in this time: its throughput, where the others are its
    /// latency.
    pub occupancy: f64,
    /// A full fence, the stores before it done.
    pub fence: f64,
    /// A locked instruction, the line there.
    pub rmw: f64,
    /// A reading of the clock, with its fence.
    pub clock: f64,
    /// The pause of a loop that spins.
    pub pause: f64,
    /// How far stores may be behind the core that made them.
    pub store_buffer: f64,
}

/// A machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    /// A short name.
    pub name: &'static str,
    /// What it is, and where its numbers are from.
    pub source: &'static str,
    /// Cores of a socket. There are as many sockets as the threads need.
    pub cores_per_socket: usize,
    /// Cores that share a last-level cache.
    pub cores_per_llc: usize,
    /// Bytes of the L2 of a core, and its ways.
    pub l2: (usize, usize),
    /// Bytes of a last-level cache.
    pub llc: usize,
    /// What accesses cost.
    pub costs: Costs,
    /// Whether a line that others have costs no more than one that they have not.
    pub sharing_is_free: bool,
}

impl Spec {
    /// The last-level cache of a core.
    pub(crate) fn domain(&self, core: usize) -> usize {
        seat(core) / self.cores_per_llc
    }

    /// The socket of a core.
    pub(crate) fn socket(&self, core: usize) -> usize {
        seat(core) / self.cores_per_socket
    }

    /// The same machine with other instructions per access, as calibration finds them.
    #[must_use]
    pub fn with_work(mut self, work: f64, same_line: f64) -> Self {
        (self.costs.work, self.costs.same_line) = (work, same_line);
        self
    }
}

/// Background threads have cores from the last one down, which sit beside the first ones.
fn seat(core: usize) -> usize {
    if core < MAX_CORES / 2 { core } else { MAX_CORES - 1 - core }
}

/// The instructions between accesses: calibrated against real runs, see `docs/internals/simulated-machine.md`.
const WORK: f64 = 5.6;
const SAME_LINE: f64 = 1.7;

const SKYLAKE: Costs = Costs {
    work: WORK,
    same_line: SAME_LINE,
    l2: 4.0,
    llc: 20.0,
    near: 48.0,
    far: 48.0,
    remote: 130.0,
    memory: 85.0,
    remote_memory: 140.0,
    occupancy: 20.0,
    fence: 9.0,
    rmw: 5.0,
    clock: 10.0,
    pause: 40.0,
    store_buffer: 400.0,
};

/// The machines.
pub const PRESETS: &[Spec] = &[
    Spec {
        name: "scaledb",
        source: "2 x 18 cores, Xeon Gold 6154 (Skylake-SP), 1 MiB of L2 per core, 24.75 MiB of LLC per socket: the \
                 machine of the ScaleDB paper (OSDI 23, section 6). Latencies: Intel's and AnandTech's figures for \
                 Skylake-SP (L2 14 cycles, LLC 46 to 70 cycles), Intel Memory Latency Checker's for its memory and \
                 its second socket. The throughput of a contended line is assumed: a little more than Haswell's",
        cores_per_socket: 18,
        cores_per_llc: 18,
        l2: (1 << 20, 16),
        llc: 25_344 << 10,
        costs: SKYLAKE,
        sharing_is_free: false,
    },
    Spec {
        name: "cicada",
        source: "2 x 14 cores, Xeon E5-2697 v3 (Haswell-EP), 256 KiB of L2 per core, 35 MiB of LLC per socket: the \
                 machine of the Cicada paper (SIGMOD 17, section 4.3). Latencies: Molka and others, Cache Coherence \
                 Protocol and Memory Performance of the Intel Haswell-EP Architecture (ICPP 15). The throughput of a \
                 contended line: the paper's 55 million increments per second by 28 cores (section 3.4)",
        cores_per_socket: 14,
        cores_per_llc: 14,
        l2: (256 << 10, 8),
        llc: 35 << 20,
        costs: Costs {
            l2: 4.8,
            llc: 21.0,
            near: 44.0,
            far: 44.0,
            remote: 113.0,
            memory: 96.0,
            remote_memory: 146.0,
            occupancy: 18.0,
            fence: 10.0,
            rmw: 6.0,
            clock: 12.0,
            pause: 4.0,
            ..SKYLAKE
        },
        sharing_is_free: false,
    },
    Spec {
        name: "chiplets",
        source: "2 x 64 cores, EPYC 7763 (Zen 3), 512 KiB of L2 per core, 32 MiB of LLC per 8 cores: a present machine. \
                 Latencies: AnandTech's measurements of the third EPYC generation (LLC 46 cycles, other cores of a \
                 chiplet some 25 ns, of another chiplet some 110, of the other socket some 200). The throughput of a \
                 contended line is assumed: half of a transfer between chiplets",
        cores_per_socket: 64,
        cores_per_llc: 8,
        l2: (512 << 10, 8),
        llc: 32 << 20,
        costs: Costs {
            l2: 3.7,
            llc: 14.0,
            near: 25.0,
            far: 110.0,
            remote: 200.0,
            memory: 112.0,
            remote_memory: 195.0,
            occupancy: 50.0,
            fence: 8.0,
            rmw: 6.0,
            clock: 14.0,
            pause: 20.0,
            ..SKYLAKE
        },
        sharing_is_free: false,
    },
    Spec {
        name: "flat",
        source: "Cores with the caches of the scaledb machine, on which sharing is free: a line that others have read or \
                 written costs no more than one that they have not. What does not scale here, does not because of \
                 conflicts and waits, not because of coherence",
        cores_per_socket: 128,
        cores_per_llc: 128,
        l2: (1 << 20, 16),
        llc: 256 << 20,
        costs: SKYLAKE,
        sharing_is_free: true,
    },
];

/// The machine of a name.
pub fn preset(name: &str) -> Option<&'static Spec> {
    PRESETS.iter().find(|spec| spec.name == name)
}
