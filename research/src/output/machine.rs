//! The machine of a measurement, as a record.

use std::path::{Path, PathBuf};

use super::record::Record;

/// A record of the machine: processor, cores, memory, kernel, and the device of `folder`. Unknown facts are omitted.
pub fn machine(folder: &Path) -> Record {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let mut record = Record::new("machine").figure("os", std::env::consts::OS).figure("arch", std::env::consts::ARCH);
    if let Some(cpu) = field(&read("/proc/cpuinfo"), "model name") {
        record = record.figure("cpu", cpu);
    }
    if let Ok(cores) = std::thread::available_parallelism() {
        record = record.figure("cores", cores.get() as u64);
    }
    let memory_kib =
        field(&read("/proc/meminfo"), "MemTotal").and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    if let Some(kib) = memory_kib {
        record = record.figure("memory_bytes", kib * 1_024);
    }
    let kernel = read("/proc/sys/kernel/osrelease");
    if !kernel.is_empty() {
        record = record.figure("kernel", kernel.trim());
    }
    let folder = folder.canonicalize().unwrap_or_else(|_| PathBuf::from("/"));
    if let Some(mount) = mount_of(&read("/proc/self/mountinfo"), &folder) {
        record = record.figure("file_system", mount.file_system).figure("device", device(&mount.source));
    }
    record.figure("version", env!("CARGO_PKG_VERSION"))
}

/// The value of the first line `name: value`.
fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
    Some(line.split_once(':')?.1.trim().into())
}

#[derive(Debug, PartialEq)]
struct Mount {
    file_system: String,
    source: String,
}

/// The mount of `folder` in the lines of mountinfo (proc(5)): the longest mount point above it, the last of equal ones.
fn mount_of(mountinfo: &str, folder: &Path) -> Option<Mount> {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let point = Path::new(place.split(' ').nth(4)?);
        let mut kind = kind.split(' ');
        let mount = Mount { file_system: kind.next()?.into(), source: kind.next()?.into() };
        folder.starts_with(point).then_some((point.components().count(), mount))
    });
    mounts.max_by_key(|(depth, _)| *depth).map(|(_, mount)| mount)
}

/// A device with its model, if known.
fn device(source: &str) -> String {
    let name = source.trim_start_matches("/dev/");
    let models = [format!("/sys/class/block/{name}/device/model"), format!("/sys/class/block/{name}/../device/model")];
    match models.iter().find_map(|path| std::fs::read_to_string(path).ok()) {
        Some(model) => format!("{source} ({})", model.trim()),
        None => source.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_holds_a_folder() {
        let mountinfo = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                         23 22 0:5 / /data rw shared:2 - tmpfs tmpfs rw\n\
                         24 23 8:2 / /data/disk rw - xfs /dev/sdb rw\n";
        let source = |folder: &str| mount_of(mountinfo, Path::new(folder)).map(|mount| mount.source);
        assert_eq!(source("/home").as_deref(), Some("/dev/sda1"));
        assert_eq!(source("/data/x").as_deref(), Some("tmpfs"));
        assert_eq!(source("/data/disk/x").as_deref(), Some("/dev/sdb"));
        assert_eq!(source("/database").as_deref(), Some("/dev/sda1"));
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 85\nmodel name\t: Some CPU @ 2: GHz\n";
        assert_eq!(field(text, "model name").as_deref(), Some("Some CPU @ 2: GHz"));
        assert_eq!(field(text, "name"), None);
    }
}
