//! Finds the board's serial port, and opens it.

use std::time::{Duration, Instant};

use serialport::{ErrorKind, SerialPort, SerialPortType, UsbPortInfo};

/// What StallBench talks at (`StallBench.ino`).
const BAUD: u32 = 115_200;
/// How long one read waits for a byte.
const READ: Duration = Duration::from_millis(100);
/// After an upload the chip's own USB goes away and comes back.
const TO_COME_BACK: Duration = Duration::from_secs(10);
/// Espressif's USB vendor id. Product 1001 is the USB-serial/JTAG inside the chip, the same for every chip that has one.
const ESPRESSIF: u16 = 0x303A;
/// Vendor ids of the bridges on ESP32-S3 boards, and their names: CP210x, CH34x and CH910x.
const BRIDGES: [(u16, &str); 2] = [(0x10C4, "a CP210x bridge"), (0x1A86, "a CH34x bridge")];

/// A port behind which a board may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its name, for `--port`.
    pub name: String,
    /// Why it may be one.
    pub why: String,
    /// It is the chip's own USB.
    pub own_usb: bool,
}

/// The ports that may have a board, by their USB ids.
///
/// # Errors
/// The system does not tell its ports.
pub fn candidates() -> Result<Vec<Candidate>, serialport::Error> {
    // Without this folder, as in a container, the library would panic.
    if cfg!(target_os = "linux") && !std::path::Path::new("/sys/class/tty").is_dir() {
        return Ok(Vec::new());
    }
    let ports = serialport::available_ports()?;
    Ok(among(ports.iter().filter_map(
        |port| match &port.port_type {
            SerialPortType::UsbPort(usb) => Some((port.port_name.as_str(), usb)),
            _ => None,
        },
    )))
}

fn among<'a>(ports: impl Iterator<Item = (&'a str, &'a UsbPortInfo)>) -> Vec<Candidate> {
    let candidate = |(name, usb): (&str, &UsbPortInfo)| {
        let own_usb = usb.vid == ESPRESSIF;
        let bridge = BRIDGES.iter().find(|(vendor, _)| *vendor == usb.vid);
        let what = match bridge {
            Some((_, what)) => what,
            None if own_usb => "Espressif's own USB",
            None => return None,
        };
        // macOS has each port twice; opening the `tty.` one waits for a modem.
        (!name.starts_with("/dev/tty.")).then(|| Candidate {
            name: name.to_owned(),
            why: format!("USB id {:04x}:{:04x}, {what}", usb.vid, usb.pid),
            own_usb,
        })
    };
    let mut found: Vec<Candidate> = ports.filter_map(candidate).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Opens a port, once it is there.
///
/// # Errors
/// Why it cannot be opened, and what to do.
pub fn open(name: &str) -> Result<Box<dyn SerialPort>, String> {
    let begun = Instant::now();
    loop {
        let opened = serialport::new(name, BAUD).timeout(READ).open();
        let error = match opened {
            Ok(port) => return Ok(port),
            Err(error) => error,
        };
        let absent = matches!(
            error.kind(),
            ErrorKind::NoDevice | ErrorKind::Io(std::io::ErrorKind::NotFound)
        );
        if !absent || begun.elapsed() > TO_COME_BACK {
            return Err(format!(
                "{name} cannot be opened: {error}; is another program using it (the IDE's serial monitor), may you use it (on \
                 Linux the group dialout or uucp)?"
            ));
        }
        std::thread::sleep(READ);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_known_by_their_usb_ids() {
        let usb = |vid, pid| UsbPortInfo {
            vid,
            pid,
            serial_number: None,
            manufacturer: None,
            product: None,
        };
        let ports = [
            ("/dev/ttyUSB1", usb(0x10C4, 0xEA60)),
            ("/dev/ttyACM0", usb(0x303A, 0x1001)),
            ("/dev/ttyACM1", usb(0x2341, 0x0043)),
            ("/dev/tty.usbmodem1", usb(0x303A, 0x1001)),
            ("COM7", usb(0x1A86, 0x55D3)),
        ];
        let found = among(ports.iter().map(|(name, usb)| (*name, usb)));
        let told: Vec<_> = found
            .iter()
            .map(|port| (port.name.as_str(), port.why.as_str(), port.own_usb))
            .collect();
        assert_eq!(
            told,
            [
                (
                    "/dev/ttyACM0",
                    "USB id 303a:1001, Espressif's own USB",
                    true
                ),
                ("/dev/ttyUSB1", "USB id 10c4:ea60, a CP210x bridge", false),
                ("COM7", "USB id 1a86:55d3, a CH34x bridge", false),
            ]
        );
    }
}
