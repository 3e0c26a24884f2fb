//! Fuzz target: storage profiles in JSON.

use ogive::io::Profile;

/// Reads any text as a profile. A valid one gives finite times that never fall, and survives being written.
///
/// # Panics
/// When one of these promises is broken.
pub fn json(data: &[u8]) {
    let Ok(profile) = serde_json::from_slice::<Profile>(data) else { return };
    let mut last_us = 0.0;
    for bytes in (0..64).map(|bit| 1_u64 << bit).chain([u64::MAX]) {
        let time_us = profile.time_us(bytes);
        assert!(time_us.is_finite() && time_us >= last_us && time_us > 0.0, "T({bytes}) = {time_us} after {last_us}");
        last_us = time_us;
    }
    let text = serde_json::to_vec(&profile).expect("a profile has a JSON form");
    assert_eq!(serde_json::from_slice::<Profile>(&text).expect("its own form is valid"), profile);
}

/// A named profile, and one of points.
pub fn json_seeds() -> Vec<Vec<u8>> {
    let points = br#"{"ogive_profile": 1, "name": "mine", "parallel": 4,
        "points": [{"size_bytes": 512, "time_us": 50.5}, {"size_bytes": 4096, "time_us": 63.4},
            {"size_bytes": 1048576, "time_us": 900.0}]}"#;
    let named = Profile::named("nvme").ok().and_then(|profile| serde_json::to_vec(&profile).ok());
    named.into_iter().chain([points.to_vec()]).collect()
}
