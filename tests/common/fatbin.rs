//! A fatbin made by hand, since no library of run-time compilation makes one.

/// CUBINs in one fatbin, each with the number of its architecture (90 for `sm_90`): a header of 16 bytes with the length
/// of what follows; for each entry a header of 64 bytes, and its bytes up to a multiple of 8.
pub fn fatbin(cubins: &[(&[u8], u32)]) -> Vec<u8> {
    const CUBIN: u16 = 2;
    const VERSION: u16 = 0x101;
    const OF_64_BITS_FOR_LINUX: u64 = 0x11;
    let mut body = Vec::new();
    for (cubin, arch) in cubins {
        let size = cubin.len().next_multiple_of(8);
        let mut header = [0u8; 64];
        header[0..2].copy_from_slice(&CUBIN.to_le_bytes());
        header[2..4].copy_from_slice(&VERSION.to_le_bytes());
        header[4..8].copy_from_slice(&64u32.to_le_bytes());
        header[8..16].copy_from_slice(&(size as u64).to_le_bytes());
        header[28..32].copy_from_slice(&arch.to_le_bytes());
        header[40..48].copy_from_slice(&OF_64_BITS_FOR_LINUX.to_le_bytes());
        body.extend_from_slice(&header);
        body.extend_from_slice(cubin);
        body.resize(body.len() + size - cubin.len(), 0);
    }
    let mut bytes = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes
}
