//! How much memory there is for this process: the machine's, or less if a control group says so.
//!
//! A group's limit is in `memory.max` (version 2) or `memory.limit_in_bytes` (version 1), and those of the groups
//! above it hold as well. In a container, the path of the group may be that of the host and lead nowhere; the root,
//! which the walk upward ends at, is then the container's own group.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Bytes of memory that this process may have in all; `None` where the system does not say. Asked once.
pub fn memory() -> Option<u64> {
    static MEMORY: OnceLock<Option<u64>> = OnceLock::new();
    *MEMORY.get_or_init(|| find(&|path| std::fs::read_to_string(path).ok()))
}

/// The budget of rows and indexes of a database that is given none: six tenths of [`memory`]. The rest is for
/// transactions that run, statements, connections and the system's cache of files.
pub fn default_budget() -> u64 {
    memory().map_or(u64::MAX, |bytes| bytes / 10 * 6)
}

type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

fn find(read: Read<'_>) -> Option<u64> {
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| total(&text));
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().filter_map(|line| limit(line, read));
    limits.chain(machine).min()
}

/// `MemTotal` in bytes.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1 << 10)
}

/// The least limit of a group, `number:controllers:path`, and those above it.
fn limit(group: &str, read: Read<'_>) -> Option<u64> {
    let (controllers, path) = group.split_once(':')?.1.split_once(':')?;
    let (root, file) = if controllers.is_empty() {
        ("/sys/fs/cgroup", "memory.max")
    } else if controllers.split(',').any(|name| name == "memory") {
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
    } else {
        return None;
    };
    let group = PathBuf::from(format!("{root}{path}"));
    let groups = group.ancestors().take_while(|at| at.starts_with(root));
    // "max" is no number, and no limit
    groups.filter_map(|at| read(&at.join(file))?.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Option<u64> {
        find(&|path| {
            files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned())
        })
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_budget_is_more_than_half_of_the_memory() {
        let memory = memory().expect("Linux says how much there is");
        assert!((memory / 2..memory).contains(&default_budget()), "{} of {memory}", default_budget());
    }

    const MEMINFO: (&str, &str) = ("/proc/meminfo", "MemTotal:        8000000 kB\nMemFree:         10 kB\n");

    #[test]
    fn the_least_limit_of_machine_and_groups_holds() {
        let machine = 8_000_000 << 10;
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[MEMINFO]), Some(machine));
        let v2 = ("/proc/self/cgroup", "0::/system.slice/scaledb.service\n");
        assert_eq!(found(&[MEMINFO, v2]), Some(machine));
        let above = ("/sys/fs/cgroup/system.slice/memory.max", "524288000\n");
        let own = ("/sys/fs/cgroup/system.slice/scaledb.service/memory.max", "max\n");
        assert_eq!(found(&[MEMINFO, v2, own]), Some(machine));
        assert_eq!(found(&[MEMINFO, v2, own, above]), Some(524_288_000));
        let v1 = ("/proc/self/cgroup", "5:cpu:/a\n4:cpuset,memory:/docker/0123\n0::/\n");
        let container = ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n");
        assert_eq!(found(&[MEMINFO, v1, container]), Some(104_857_600));
        let of_others = ("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4096\n");
        assert_eq!(found(&[MEMINFO, v1, of_others]), Some(machine));
        let unlimited = ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(found(&[MEMINFO, v1, unlimited]), Some(machine));
        for broken in ["", "0", "0::", "x:y", "1:memory", ":::"] {
            assert_eq!(found(&[MEMINFO, ("/proc/self/cgroup", broken)]), Some(machine), "{broken:?}");
        }
    }
}
