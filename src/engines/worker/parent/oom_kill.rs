//! Whether the system's out-of-memory killer ended the worker. Of all causes of a SIGKILL, this is the one that the
//! user can do something about, so the error reports it.
//!
//! A SIGKILL does not tell who sent it. The kernel counts the processes that it has killed for lack of memory, in total
//! (`/proc/vmstat`) and for each control group, and it counts before it sends the signal. If the total has not moved
//! since the worker started, it was not this killer. If the count of the worker's own group has moved, it probably was.
//! Otherwise it is possible.

use std::path::PathBuf;

/// How many such kills there were so far; `None` if the system does not count them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kills {
    all: Option<u64>,
    group: Option<u64>,
}

/// What the counts say about a process that ended by SIGKILL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OomKill {
    /// A process of its control group was killed for lack of memory.
    Likely,
    /// Some process was; it may be this one.
    Possible,
    /// No process was.
    No,
    /// The system does not count them.
    Unknown,
}

impl Kills {
    /// The counts now: of the system, and of the control group that this process and its children are in.
    pub(crate) fn now() -> Self {
        let count = |path: PathBuf| count(&std::fs::read_to_string(path).ok()?);
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Kills { all: count("/proc/vmstat".into()), group: counter(&groups).and_then(count) }
    }

    /// What the change since `before` says.
    pub(crate) fn since(self, before: Kills) -> OomKill {
        let more = |now: Option<u64>, before: Option<u64>| Some(now? > before?);
        match (more(self.all, before.all), more(self.group, before.group)) {
            (_, Some(true)) => OomKill::Likely,
            (Some(true), _) => OomKill::Possible,
            (Some(false), _) => OomKill::No,
            (None, _) => OomKill::Unknown,
        }
    }
}

/// The count in the text of a kernel file, which has it on a line of its own.
fn count(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// The file with the count of the control group that a process is in. It is the memory controller's if that has a tree
/// of its own (cgroup v1), else that of the unified tree (cgroup v2).
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
