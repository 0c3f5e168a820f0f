//! How the processes of a job find each other: by arguments, or by the variables that launchers set.

use super::store::Key;
use crate::core::error::{Error, Result};
use std::time::Duration;

/// The port of the store if nothing tells another.
const PORT: u16 = 29_555;

/// Where the processes of a job meet, and which of them this one is.
///
/// Process 0 serves a small store at the address; all others connect to it. Every process of the job, and the store, must prove
/// that it knows the token, which is never sent; whoever knows it can take part. `{:?}` does not show it.
///
/// ```no_run
/// # fn main() -> windlass::Result<()> {
/// use windlass::{Device, collective::{Combine, Communicator, Rendezvous}};
/// let device = Device::host()?;
/// let comm = Communicator::join(&Rendezvous::from_environment()?, [&device])?;
/// let x = device.buffer([comm.ranks() as f32; 4])?;
/// let x = comm.all_reduce_in_place(Combine::Sum, vec![x])?.await_result()?;
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Rendezvous {
    pub(super) address: String,
    pub(super) process: usize,
    pub(super) processes: usize,
    token: String,
    pub(super) limit: Duration,
    pub(super) silence: Duration,
    pub(super) patience: Duration,
    pub(super) is_served: bool,
    pub(super) replaces: bool,
    pub(super) protects: bool,
}

impl Rendezvous {
    /// `address` is a host and a port (`10.0.0.1:29555`, `[::1]:29555`, `node7:29555`), where `process`, if it is 0, serves.
    /// There are `processes`, numbered from 0.
    pub fn new(address: impl Into<String>, process: usize, processes: usize) -> Self {
        Rendezvous {
            address: address.into(),
            process,
            processes,
            token: String::new(),
            limit: Duration::from_secs(120),
            silence: Duration::from_millis(1500),
            patience: Duration::from_secs(600),
            is_served: false,
            replaces: false,
            protects: false,
        }
    }

    /// Reads the variables of the launcher that started this process, the first of these that is there:
    ///
    /// - `torchrun`, or by hand: `RANK`, `WORLD_SIZE`, `MASTER_ADDR`, `MASTER_PORT`. If torchrun's own store serves at that
    ///   port (`TORCHELASTIC_USE_AGENT_STORE`), the next port is used.
    /// - SLURM: `SLURM_PROCID`, `SLURM_NTASKS`, and the first node of `SLURM_STEP_NODELIST`, with a port made of the job's
    ///   number.
    /// - Open MPI (`OMPI_COMM_WORLD_RANK`, `OMPI_COMM_WORLD_SIZE`), MPICH and others (`PMI_RANK`, `PMI_SIZE`); these need
    ///   `MASTER_ADDR`.
    /// - None: one process.
    ///
    /// `WINDLASS_STORE_TOKEN` is the token; without it, the job's number or name is.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: half of the variables of a launcher are set (the missing one is named), or one is no number.
    pub fn from_environment() -> Result<Self> {
        Self::from_variables(&|name| std::env::var(name).ok())
    }

    /// As [`from_environment`](Self::from_environment), with variables from elsewhere.
    ///
    /// # Errors
    /// As [`from_environment`](Self::from_environment).
    pub fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let found = Variables(variable);
        let launchers = [
            ("RANK", "WORLD_SIZE"),
            ("SLURM_PROCID", "SLURM_NTASKS"),
            ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
            ("PMI_RANK", "PMI_SIZE"),
        ];
        for (rank, size) in launchers {
            if found.get(rank).is_none() && found.get(size).is_none() {
                continue;
            }
            let (process, processes) = (found.number(rank)?, found.number(size)?);
            let (host, port) = found.address(rank)?;
            let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host };
            let rendezvous = Rendezvous::new(format!("{host}:{port}"), process, processes).token(found.token());
            rendezvous.check()?;
            return Ok(rendezvous);
        }
        Ok(Rendezvous::new(format!("127.0.0.1:{PORT}"), 0, 1).token(found.token()))
    }

    /// The job's token: at least 32 random characters where others can reach the ports of the job. (Who listens can try guesses
    /// against what is sent.)
    #[must_use = "this returns the changed value"]
    pub fn token(self, token: impl Into<String>) -> Self {
        Rendezvous { token: token.into(), ..self }
    }

    /// How long the processes may take to find each other: 2 minutes if not set.
    #[must_use = "this returns the changed value"]
    pub fn limit(self, limit: Duration) -> Self {
        Rendezvous { limit, ..self }
    }

    /// A process that says nothing for so long is taken for lost: 1.5 seconds if not set. (One that ends is noticed at once.)
    #[must_use = "this returns the changed value"]
    pub fn silence(self, silence: Duration) -> Self {
        Rendezvous { silence, ..self }
    }

    /// How long a collective waits for processes that live but do not come to it: 10 minutes if not set.
    #[must_use = "this returns the changed value"]
    pub fn patience(self, patience: Duration) -> Self {
        Rendezvous { patience, ..self }
    }

    /// A [`Store`](super::Store) serves at the address, not process 0.
    #[must_use = "this returns the changed value"]
    pub fn served(self) -> Self {
        Rendezvous { is_served: true, ..self }
    }

    /// Whether the elements that host devices send each other carry a keyed hash too, so that those which somebody has changed on
    /// the way are noticed: not if not set, since it costs time ([`jobs`](crate::guide::jobs) has figures). The
    /// same in all processes. What the processes agree on, and reductions of up to 2 KiB, always carries one. (On GPUs the
    /// elements are NCCL's, and this is [`Error::Unsupported`].)
    #[must_use = "this returns the changed value"]
    pub fn protect_data(self, protects: bool) -> Self {
        Rendezvous { protects, ..self }
    }

    /// This process joins in the place of the one with its number that is lost, as soon as the others call
    /// [`rebuild`](super::Communicator::rebuild) with [`Members::Replaced`](super::Members::Replaced).
    #[must_use = "this returns the changed value"]
    pub fn replacement(self) -> Self {
        Rendezvous { replaces: true, ..self }
    }

    /// The number of this process.
    pub fn process(&self) -> usize {
        self.process
    }

    /// The number of processes.
    pub fn processes(&self) -> usize {
        self.processes
    }

    /// Where the store is.
    pub fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn key(&self) -> Key {
        Key::new(&self.token)
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.process < self.processes && self.processes <= 1 << 16 {
            return Ok(());
        }
        Err(Error::invalid("process", format!("{} is none of the {} processes", self.process, self.processes)))
    }
}

impl std::fmt::Debug for Rendezvous {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Rendezvous { address, process, processes, token, limit, silence, patience, .. } = self;
        let token = format_args!("{}", if token.is_empty() { "none" } else { "hidden" });
        let mut shown = f.debug_struct("Rendezvous");
        shown.field("address", address).field("process", process).field("processes", processes).field("token", &token);
        shown.field("limit", limit).field("silence", silence).field("patience", patience);
        shown.field("served", &self.is_served).field("replaces", &self.replaces).field("protects", &self.protects);
        shown.finish()
    }
}

/// The variables of the process.
struct Variables<'v>(&'v dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    fn needed(&self, name: &'static str) -> Result<String> {
        self.get(name).ok_or_else(|| {
            Error::invalid(
                name,
                "the variable is not set, though others of the same launcher are; set it, or unset those",
            )
        })
    }

    fn number(&self, name: &'static str) -> Result<usize> {
        let value = self.needed(name)?;
        value.trim().parse().map_err(|_| Error::invalid(name, format!("`{value}` is no number")))
    }

    /// The host and port of the store.
    fn address(&self, rank: &'static str) -> Result<(String, u16)> {
        let port = match self.get("MASTER_PORT") {
            None => None,
            Some(port) => {
                let number = port.trim().parse::<u16>().ok();
                Some(number.ok_or_else(|| Error::invalid("MASTER_PORT", format!("`{port}` is no port")))?)
            }
        };
        match (rank, self.get("MASTER_ADDR")) {
            ("RANK", None) => Err(self.needed("MASTER_ADDR").err().unwrap_or_else(|| Error::library("unreachable"))),
            ("RANK", Some(host)) => {
                let port = port.ok_or(()).or_else(|()| self.needed("MASTER_PORT").map(|_| PORT))?;
                let serves =
                    self.get("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|value| value.eq_ignore_ascii_case("true"));
                Ok((host, if serves { port.wrapping_add(1).max(1024) } else { port }))
            }
            (_, Some(host)) => Ok((host, port.unwrap_or_else(|| self.job_port()))),
            ("SLURM_PROCID", None) => {
                let nodes = self.get("SLURM_STEP_NODELIST").or_else(|| self.get("SLURM_JOB_NODELIST"));
                let nodes = nodes.map_or_else(|| self.needed("SLURM_STEP_NODELIST"), Ok)?;
                let host = first_node(&nodes);
                let host = host.ok_or_else(|| Error::invalid("SLURM_STEP_NODELIST", format!("`{nodes}`")))?;
                Ok((host, port.unwrap_or_else(|| self.job_port())))
            }
            (_, None) => {
                let what = "the variable is not set, and this launcher tells no address: set it to that of process 0";
                Err(Error::invalid("MASTER_ADDR", what))
            }
        }
    }

    /// A port that the processes of a SLURM job agree on without being told.
    fn job_port(&self) -> u16 {
        let job = self.get("SLURM_JOB_ID").and_then(|job| job.trim().parse::<u64>().ok());
        job.map_or(PORT, |job| 61_440 + (job % 4096) as u16)
    }

    fn token(&self) -> String {
        let names =
            ["WINDLASS_STORE_TOKEN", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "OMPI_MCA_ess_base_jobid", "PMI_JOBID"];
        names.iter().find_map(|name| self.get(name)).unwrap_or_default()
    }
}

/// The first node of a list such as `gpu[03-05,7],login1`.
fn first_node(nodes: &str) -> Option<String> {
    let end = nodes.find([',', '[']).unwrap_or(nodes.len());
    let (name, rest) = nodes.split_at_checked(end)?;
    let Some(inside) = rest.strip_prefix('[') else { return Some(name.to_owned()).filter(|name| !name.is_empty()) };
    let first = inside.split([',', '-', ']']).next().filter(|first| !first.is_empty())?;
    let after = inside.split_once(']')?.1;
    let suffix = after.split([',', '[']).next().unwrap_or_default();
    Some(format!("{name}{first}{suffix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Result<Rendezvous> {
        let found = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Rendezvous::from_variables(&found)
    }

    #[track_caller]
    fn missing(variables: &[(&str, &str)]) -> String {
        match with(variables) {
            Err(Error::InvalidArgument { argument, .. }) => argument.into_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_launcher_is_understood() {
        let found = |variables: &[(&str, &str)]| {
            let found = with(variables).unwrap();
            (found.address, found.process, found.processes, found.token)
        };
        let of =
            |address: &str, process, processes, token: &str| (address.to_owned(), process, processes, token.to_owned());
        let torch = [("RANK", "1"), ("WORLD_SIZE", "4"), ("MASTER_ADDR", "::1"), ("MASTER_PORT", "500")];
        assert_eq!(found(&torch), of("[::1]:500", 1, 4, ""));
        let agent = [("MASTER_PORT", "5000"), ("TORCHELASTIC_USE_AGENT_STORE", "True"), ("TORCHELASTIC_RUN_ID", "job")];
        let agent = [&agent[..], &torch[..3]].concat();
        assert_eq!(found(&agent), of("[::1]:5001", 1, 4, "job"));
        let slurm = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2"), ("SLURM_JOB_ID", "4097")];
        let slurm = [&slurm[..], &[("SLURM_STEP_NODELIST", "gpu[03-05,7],x")]].concat();
        assert_eq!(found(&slurm), of("gpu03:61441", 0, 2, "4097"));
        let mpi = [("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "3"), ("MASTER_ADDR", "a")];
        assert_eq!(found(&mpi), of("a:29555", 2, 3, ""));
        assert_eq!(found(&[("PMI_RANK", "0"), ("PMI_SIZE", "1"), ("MASTER_ADDR", "a")]).1, 0);
        assert_eq!(found(&[("WINDLASS_STORE_TOKEN", "t")]), of("127.0.0.1:29555", 0, 1, "t"));
    }

    #[test]
    fn the_token_is_not_shown() {
        let at = Rendezvous::new("a:1", 0, 2).token("SESAME");
        let shown = format!("{at:?} {at:#?}");
        assert!(!shown.contains("SESAME") && shown.contains("token: hidden"), "{shown}");
        assert!(format!("{:?}", Rendezvous::new("a:1", 0, 2)).contains("token: none"));
    }

    #[test]
    fn what_is_half_set_is_named() {
        assert_eq!(missing(&[("RANK", "1")]), "WORLD_SIZE");
        assert_eq!(missing(&[("WORLD_SIZE", "1")]), "RANK");
        assert_eq!(missing(&[("RANK", "0"), ("WORLD_SIZE", "1")]), "MASTER_ADDR");
        assert_eq!(missing(&[("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "a")]), "MASTER_PORT");
        assert_eq!(missing(&[("RANK", "x"), ("WORLD_SIZE", "1")]), "RANK");
        assert_eq!(missing(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")]), "SLURM_STEP_NODELIST");
        assert_eq!(missing(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), "MASTER_ADDR");
        let beyond = [("RANK", "4"), ("WORLD_SIZE", "4"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "1")];
        assert_eq!(missing(&beyond), "process");
    }

    #[test]
    fn the_first_node_of_a_list_is_found() {
        let first = |nodes: &str| first_node(nodes).unwrap_or_default();
        assert_eq!(["a", "a,b", "a[1-3]", "a[07,9]b,c", ""].map(first), ["a", "a", "a1", "a07b", ""]);
    }
}
