//! The device that plans are for: one of this process, or one that is only described.

use super::descriptor::{Descriptor, Of, Refused};
use super::handle::Functions;

const DEVICE: i32 = 38;

/// Members of a description that differ between two devices of one model, or from one moment to the next.
const OF_ONE: [&str; 3] = ["pciDeviceId", "cudaDeviceId", "totalGlobalMem"];

/// A device.
pub(super) struct Target {
    pub(super) descriptor: Descriptor,
    /// Its description by the library.
    pub(super) text: String,
}

impl Target {
    /// The device with this number.
    pub(super) fn of(api: &'static Functions, ordinal: i32) -> Result<Self, Refused> {
        let descriptor = Descriptor::new(api, DEVICE)?.choice(2700, Of::Int32, ordinal)?.finalized()?;
        let text = String::from_utf8_lossy(&descriptor.bytes(2702)?).into_owned();
        Ok(Target { descriptor, text })
    }

    /// A device of which only the description is here.
    pub(super) fn described(api: &'static Functions, text: &str) -> Result<Self, Refused> {
        let descriptor = Descriptor::new(api, DEVICE)?.text(2702, text.as_bytes())?.finalized()?;
        Ok(Target { descriptor, text: text.to_owned() })
    }

    /// What plans depend on, as part of their keys: all but what tells one device from another of its model.
    pub(super) fn model(&self) -> String {
        model(&self.text)
    }
}

/// The members of a flat JSON object, without [`OF_ONE`], in their order. Values are kept as they are written.
fn model(text: &str) -> String {
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    let mut members = vec![String::new()];
    for letter in text.chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => depth += 1,
            '}' | ']' if !quoted => depth -= 1,
            ',' if !quoted && depth == 1 => {
                members.push(String::new());
                continue;
            }
            letter if !quoted && letter.is_whitespace() => continue,
            _ => {}
        }
        if let Some(member) = members.last_mut() {
            member.push(letter);
        }
    }
    let is_of_one = |member: &String| {
        let name = member.trim_start_matches('{').split('"').nth(1).unwrap_or_default();
        OF_ONE.contains(&name)
    };
    members.retain(|member| !is_of_one(member));
    members.join(",")
}

#[cfg(test)]
mod tests {
    use super::model;

    #[test]
    fn two_devices_of_a_model_have_one_key() {
        let one =
            r#"{"a":[1,2,3],"pciDeviceId":7, "deviceName":"NVIDIA, \"H100\" {x","cudaDeviceId":0,"totalGlobalMem":85}"#;
        let other = r#"{ "a":[1, 2,3],"pciDeviceId":99,"deviceName":"NVIDIA, \"H100\" {x","cudaDeviceId":3,"totalGlobalMem":84}"#;
        assert_eq!(model(one), model(other));
        assert_ne!(model(one), model(&other.replace("H100", "H200")));
        assert_ne!(model(one), model(&other.replace("2,3", "2,4")));
        assert_eq!(model(one), r#"{"a":[1,2,3],"deviceName":"NVIDIA, \"H100\" {x""#);
    }
}
