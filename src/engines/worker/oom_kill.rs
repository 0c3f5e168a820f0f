//! Whether the system's out-of-memory killer ended the worker: the one cause of a SIGKILL that the user can do something
//! about, and the error says so.
//!
//! A SIGKILL says nothing of who sent it. The kernel counts the processes that it has killed for want of memory, in all
//! (`/proc/vmstat`) and for each control group, and does so before it sends the signal. So a count that has not moved since
//! the worker started clears it; one that moved in the worker's own group names it; else it stays open.

use std::path::PathBuf;

/// Such kills so far, where they are counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kills {
    all: Option<u64>,
    group: Option<u64>,
}

/// What they say of a process that ended by SIGKILL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OomKill {
    /// Its control group has lost a process for want of memory.
    Likely,
    /// Others have lost some: it may be one of them.
    Possible,
    /// Nobody was killed for that.
    No,
    /// They are not counted here.
    Unknown,
}

impl Kills {
    /// Those that this process, and a child of it, can learn of.
    pub(super) fn now() -> Self {
        let count = |path: PathBuf| count(&std::fs::read_to_string(path).ok()?);
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Kills { all: count("/proc/vmstat".into()), group: counter(&groups).and_then(count) }
    }

    /// What has happened since `before`.
    pub(super) fn since(self, before: Kills) -> OomKill {
        let more = |now: Option<u64>, before: Option<u64>| Some(now? > before?);
        match (more(self.all, before.all), more(self.group, before.group)) {
            (_, Some(true)) => OomKill::Likely,
            (Some(true), _) => OomKill::Possible,
            (Some(false), _) => OomKill::No,
            (None, _) => OomKill::Unknown,
        }
    }
}

/// The count in a file of the kernel's that has it in a line of its own.
fn count(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// The file with the count of the control group that a process is in: of the memory controller where each has a tree of its
/// own, else of the one tree.
fn counter(groups: &str) -> Option<PathBuf> {
    let mut fields = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        rest.split_once(':')
    });
    let path = |tree: &str, group: &str, file: &str| format!("/sys/fs/cgroup/{tree}{group}/{file}").into();
    let own = |(_, group)| path("memory", group, "memory.oom_control");
    let memory = fields.clone().find(|(controllers, _)| controllers.split(',').any(|c| c == "memory")).map(own);
    memory.or_else(|| fields.find(|(none, _)| none.is_empty()).map(|(_, group)| path("", group, "memory.events")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_found_where_the_kernel_keeps_them() {
        assert_eq!(count("low 0\noom 3\noom_kill 2\noom_group_kill 0\n"), Some(2));
        assert_eq!((count("oom_kill_disable 0\nunder_oom 0\noom_kill 7"), count("oom 3\n")), (Some(7), None));
        let text = |groups| counter(groups).map(|path| path.to_string_lossy().into_owned());
        assert_eq!(text("0::/a/b\n").unwrap(), "/sys/fs/cgroup//a/b/memory.events");
        let both = "9:cpu,cpuacct:/c\n4:memory:/a:b\n0::/\n";
        assert_eq!(text(both).unwrap(), "/sys/fs/cgroup/memory/a:b/memory.oom_control");
        assert_eq!(text("nonsense\n"), None);
    }

    #[test]
    fn a_kill_is_laid_to_want_of_memory_only_where_it_was_counted() {
        let kills = |all, group| Kills { all, group };
        let before = kills(Some(3), Some(1));
        assert_eq!(kills(Some(4), Some(2)).since(before), OomKill::Likely);
        assert_eq!(kills(Some(4), Some(1)).since(before), OomKill::Possible);
        assert_eq!(kills(Some(3), Some(1)).since(before), OomKill::No);
        assert_eq!(kills(None, Some(1)).since(before), OomKill::Unknown);
        assert_eq!(kills(Some(3), None).since(before), OomKill::No);
    }
}
