//! What goes through the socket: the handshake, errors and long answers, and the end.
//!
//! Each message is its length (4 bytes) and its bytes. The socket is one end of a pair; the worker has the other end as
//! its standard input. Each side learns of the other's end when the socket closes.

use super::Inherited;
use crate::core::device_info::DeviceInfo;
use crate::core::error::{Error, Result};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage};
use rustix::net::{SendFlags, recvmsg, sendmsg};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Incremented whenever the format of anything that crosses changes.
pub(crate) const PROTOCOL: u32 = 8;
/// Identifies the messages of this crate.
pub(crate) const MAGIC: u64 = 0x7769_6e64_6c61_7373;

/// Identifies an executable: a handler that is named by its offset is valid in the same file only.
pub(crate) type Identity = (u64, u64);

/// The parent's first message.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) magic: u64,
    pub(crate) protocol: u32,
    pub(crate) version: String,
    /// The parent's executable, if ops are named by their offset in it.
    pub(crate) same: Option<Identity>,
    /// The parent's process id, and the pid namespace in which it is valid.
    pub(crate) parent: u32,
    pub(crate) namespace: Option<u64>,
    /// Descriptors of the parent that the worker may have inherited and must close.
    pub(crate) inherited: Vec<Inherited>,
    /// Sizes of the two segments, in bytes.
    pub(crate) control: u64,
    pub(crate) bulk: u64,
    /// What the worker adds to its `oom_score_adj`.
    pub(crate) oom_score: u16,
    pub(crate) device: DeviceOrder,
}

/// The device that the worker opens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DeviceOrder {
    /// `None` for the host.
    pub(crate) ordinal: Option<usize>,
    /// The UUID that the GPU must have.
    pub(crate) uuid: Option<[u8; 16]>,
    /// The parent's name of the device, for errors.
    pub(crate) label: Option<String>,
    /// Threads of a host device's pool; 0 for one per core, `None` for inline.
    pub(crate) threads: Option<usize>,
    pub(crate) slots: usize,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) staging_limit: u64,
    /// Test the device before the worker says `Ready`; this also loads the libraries.
    pub(crate) test: bool,
    /// Milliseconds between two beats of the heart.
    pub(crate) beat: u64,
}

/// What the worker sends.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// The device is open.
    Ready { magic: u64, protocol: u32, version: String, info: DeviceInfo, limit: u64, label: String },
    /// The device was not opened, or the hello was refused.
    Refused(Error),
    /// An answer that does not fit its place, or an error.
    Spill { place: u32, answer: std::result::Result<Vec<u8>, Error> },
    /// The device's context failed; the worker ends after this.
    Fault { message: String, code: Option<(i32, String)> },
}

/// The longest message: a spilled answer may be a large vector.
pub(crate) const LONGEST: u32 = 1 << 30;

fn failed(what: &str, e: impl std::fmt::Display) -> Error {
    Error::library(format!("the worker's socket: {what}: {e}"))
}

/// A message as it is sent through the socket. Fails if it is longer than `longest` bytes.
pub(crate) fn frame(message: &impl Serialize, longest: u32) -> Result<Vec<u8>> {
    let mut bytes = postcard::to_extend(message, vec![0u8; 4]).map_err(|e| failed("encode", e))?;
    let len = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    if len > longest {
        return Err(Error::unsupported(format!(
            "an answer of {len} bytes is too long, at most {longest} are possible"
        )));
    }
    if let Some(head) = bytes.first_chunk_mut::<4>() {
        *head = len.to_le_bytes();
    }
    Ok(bytes)
}

/// Sends a message.
pub(crate) fn send(socket: &mut impl Write, message: &impl Serialize) -> Result<()> {
    socket.write_all(&frame(message, LONGEST)?).map_err(|e| failed("write", e))
}

/// Receives a message; `None` if the other side has ended.
pub(crate) fn receive<M: DeserializeOwned>(socket: &mut impl Read) -> Result<Option<M>> {
    let mut len = [0u8; 4];
    match socket.read_exact(&mut len) {
        Ok(()) => {}
        Err(e) if matches!(e.kind(), std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset) => {
            return Ok(None);
        }
        Err(e) => return Err(failed("read", e)),
    }
    let len = u32::from_le_bytes(len);
    if len > LONGEST {
        return Err(Error::library(format!("the worker's socket: invalid message length {len}")));
    }
    // Grows as bytes arrive: a length alone reserves no memory.
    let mut bytes = Vec::new();
    match socket.take(u64::from(len)).read_to_end(&mut bytes) {
        Ok(n) if n == len as usize => {}
        Ok(_) => return Ok(None), // cut in the middle: the other side has ended
        Err(e) => return Err(failed("read", e)),
    }
    postcard::from_bytes(&bytes).map(Some).map_err(|e| failed("decode", e))
}

/// Sends one byte with descriptors.
pub(crate) fn send_files(socket: &UnixStream, files: &[OwnedFd; 2]) -> Result<()> {
    let [one, two] = files;
    let files = [one.as_fd(), two.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&files));
    sendmsg(socket, &[IoSlice::new(&[1])], &mut control, SendFlags::NOSIGNAL).map_err(|e| failed("sendmsg", e))?;
    Ok(())
}

/// Receives them. They are closed on exec.
pub(crate) fn receive_files(socket: &UnixStream) -> Result<[OwnedFd; 2]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0u8];
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)
        .map_err(|e| failed("recvmsg", e))?;
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            files.extend(rights);
        }
    }
    files.try_into().map_err(|f: Vec<_>| failed("recvmsg", format!("{} descriptors instead of 2", f.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::error::Site;

    #[test]
    fn typed_errors_cross_whole() {
        let (mut one, mut two) = UnixStream::pair().unwrap();
        let error = Error::Singular { position: 3, matrix: 7, site: Site::none() }.in_op("getrf", "solver");
        send(&mut one, &Message::Spill { place: 9, answer: Err(error.clone()) }).unwrap();
        match receive::<Message>(&mut two).unwrap() {
            Some(Message::Spill { place: 9, answer: Err(came) }) => assert_eq!(came, error),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_message_cut_in_the_middle_is_the_end_and_no_hang() {
        let mut bytes = Vec::new();
        send(&mut bytes, &Message::Refused(Error::library("no"))).unwrap();
        for cut in 0..bytes.len() {
            let (mut one, mut two) = UnixStream::pair().unwrap();
            one.write_all(&bytes[..cut]).unwrap();
            drop(one);
            assert!(receive::<Message>(&mut two).unwrap().is_none(), "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_message_is_refused_without_reserving_its_length() {
        let mut garbage: &[u8] = &[0xff; 64];
        assert!(receive::<Message>(&mut garbage).is_err());
        let mut short: &[u8] = &[4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
        assert!(receive::<Message>(&mut short).is_err());
    }

    #[test]
    fn descriptors_cross() {
        let (one, two) = UnixStream::pair().unwrap();
        let (segment, file) = crate::core::segment::Segment::create("windlass-test", 4096).unwrap();
        let (_other, second) = crate::core::segment::Segment::create("windlass-test", 4096).unwrap();
        send_files(&one, &[file, second]).unwrap();
        let [file, _] = receive_files(&two).unwrap();
        let mapped = crate::core::segment::Segment::map(&file, 4096).unwrap();
        segment.word(8).store(5, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(mapped.word(8).load(std::sync::atomic::Ordering::Relaxed), 5);
    }
}
