//! Several hosts: each process in a network namespace of its own, all of them on one bridge. To cut a host off its link is taken
//! down, which tells nobody anything. Needs the rights of an administrator, and `ip` of iproute2: so the test is ignored, and
//! `.ci/deep hosts` runs it, in a namespace that ends with it.
#![cfg(unix)]

use crate::kills::{Loss, losses};
use std::process::Command;

/// The first three numbers of all addresses, of those that are set aside for tests of networks. The test is at 1.
const NET: &str = "198.18.77";

/// As many hosts as processes; they end with this.
pub(crate) struct Hosts {
    count: usize,
}

fn is_done(line: &str) -> bool {
    Command::new("ip").args(line.split(' ')).status().unwrap().success()
}

fn ip(line: &str) {
    assert!(is_done(line), "ip {line}");
}

fn name(host: usize) -> String {
    format!("windlass{}-{host}", std::process::id())
}

impl Hosts {
    pub(crate) fn new(count: usize) -> Self {
        let hosts = Hosts { count };
        ip("link add wbridge type bridge");
        ip(&format!("addr add {NET}.1/24 dev wbridge"));
        ip("link set wbridge up");
        for host in 0..count {
            let name = name(host);
            ip(&format!("netns add {name}"));
            ip(&format!("link add wport{host} type veth peer name wlink netns {name}"));
            ip(&format!("link set wport{host} master wbridge up"));
            ip(&format!("-n {name} addr add {NET}.{}/24 dev wlink", host + 2));
            ip(&format!("-n {name} link set wlink up"));
            ip(&format!("-n {name} link set lo up"));
        }
        hosts
    }

    /// Where the store of the job can be served.
    pub(crate) fn address(&self) -> String {
        format!("{NET}.1:0")
    }

    /// What runs this program on a host.
    pub(crate) fn command(&self, host: usize) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &name(host)]).arg(std::env::current_exe().unwrap());
        command
    }

    /// Nothing leaves or reaches that host any more.
    pub(crate) fn cut(&self, host: usize) {
        ip(&format!("link set wport{host} down"));
    }

    pub(crate) fn mend(&self, host: usize) {
        ip(&format!("link set wport{host} up"));
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in 0..self.count {
            let _ = is_done(&format!("link del wport{host}"));
            let _ = is_done(&format!("netns del {}", name(host)));
        }
        let _ = is_done("link del wbridge");
    }
}

#[test]
#[ignore = "needs the rights to make network namespaces"]
fn hosts_that_are_cut_off_and_processes_that_are_lost_leave_the_others_right() {
    losses(&[Loss::CutOff, Loss::Killed, Loss::Stopped], "told", (12, 4));
}
