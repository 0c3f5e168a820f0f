//! Sends to and receives from all others at once, on the thread of the communicator: so no order among the processes can make
//! them wait for each other.

use super::{Data, State};
use crate::system::sockets::{Watched, wait};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// What is sent to and received from one process, each in order.
#[derive(Default)]
pub(super) struct Traffic<'b> {
    pub(super) sends: VecDeque<&'b [u8]>,
    pub(super) receives: VecDeque<&'b mut [u8]>,
}

/// Why traffic stopped.
pub(super) enum Broken {
    /// The connection to this process broke.
    Ended(usize, String),
    /// These processes did not come in time.
    Late(Vec<usize>),
    /// A process was lost.
    Lost,
}

/// How many sockets a thread tries in vain before it sleeps, some 30 us: most answers to few bytes come in that time, and a
/// sleeping thread would see them later. (It does not give its processor away meanwhile: on a busy machine it would not get
/// it back soon.)
const TRIES: usize = 64;
/// How often a waiting thread looks whether a process was lost.
const LOOK: Duration = Duration::from_millis(20);

/// Carries out the traffic with each process; `traffic` has one entry for each.
pub(super) fn carry(data: &Data, state: &State, traffic: &mut [Traffic<'_>], patience: Duration) -> Result<(), Broken> {
    let began = state.clock.now();
    for (peer, traffic) in data.peers.iter().zip(&mut *traffic) {
        if peer.is_none() {
            *traffic = Traffic::default(); // this process itself
        }
    }
    let mut tries = 0;
    loop {
        let mut moved = false;
        for (process, (peer, traffic)) in data.peers.iter().zip(&mut *traffic).enumerate() {
            let Some(socket) = peer else { continue };
            let ended = |why: String| Broken::Ended(process, why);
            moved |= send(socket, &mut traffic.sends).map_err(ended)?;
            moved |= receive(socket, &mut traffic.receives).map_err(ended)?;
        }
        let open = |traffic: &Traffic<'_>| !traffic.sends.is_empty() || !traffic.receives.is_empty();
        if !traffic.iter().any(open) {
            return Ok(());
        }
        if state.is_lost() {
            return Err(Broken::Lost);
        }
        if moved {
            tries = 0;
            continue;
        }
        if tries < TRIES {
            tries += traffic.len();
            continue;
        }
        let left = patience.saturating_sub(state.clock.now().saturating_duration_since(began));
        if left.is_zero() {
            let late = traffic.iter().enumerate().filter(|(_, traffic)| open(traffic)).map(|(process, _)| process);
            return Err(Broken::Late(late.collect()));
        }
        let watched: Vec<Watched<'_>> = data
            .peers
            .iter()
            .zip(&*traffic)
            .filter(|(_, traffic)| open(traffic))
            .filter_map(|(peer, traffic)| {
                let (reads, writes) = (!traffic.receives.is_empty(), !traffic.sends.is_empty());
                Some(Watched { socket: peer.as_ref()?, reads, writes })
            })
            .collect();
        wait(&watched, left.min(LOOK));
    }
}

/// Sends what can be sent now. Whether that was anything.
fn send(mut socket: &TcpStream, sends: &mut VecDeque<&[u8]>) -> Result<bool, String> {
    let mut moved = false;
    while let Some(bytes) = sends.front_mut() {
        if bytes.is_empty() {
            sends.pop_front();
            continue;
        }
        match socket.write(bytes) {
            Ok(0) => return Err("nothing can be sent".into()),
            Ok(sent) => {
                *bytes = bytes.get(sent..).unwrap_or_default();
                moved = true;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(moved)
}

/// Receives what is there now. Whether that was anything.
fn receive(mut socket: &TcpStream, receives: &mut VecDeque<&mut [u8]>) -> Result<bool, String> {
    let mut moved = false;
    while let Some(room) = receives.front_mut() {
        if room.is_empty() {
            receives.pop_front();
            continue;
        }
        match socket.read(room) {
            Ok(0) => return Err("the connection is closed".into()),
            Ok(got) => {
                let rest = std::mem::take(room);
                *room = rest.get_mut(got..).unwrap_or_default();
                moved = true;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(moved)
}
