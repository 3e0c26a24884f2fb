//! Tables of the papers' designs: built, searched, verified and compared by the commands of `ogive`.

use super::run::{Folder, sosd, uneven_keys};

#[test]
fn tables_of_learned_designs_are_built_searched_and_verified() {
    let folder = Folder::new();
    let keys = uneven_keys(50_000);
    folder.write("keys.u64", sosd(&keys));
    for design in [
        "rmi",
        "radix-spline",
        "radix-spline:64",
        "plex",
        "plex:2048",
        "layers=2,builder=rmi-cubic/spline,leaves=40/-,error=-/2",
    ] {
        folder.build("keys.u64", "t.ogive", &["--design", design, "--block-size", "512"]);
        let layers = folder.run(&["explain", "t.ogive", "--json"]).exits_with(0).json()["layers"].clone();
        let kind = layers[0]["kind"].as_str().unwrap();
        assert!(kind.starts_with("rmi-") || kind.starts_with("spline("), "{design}: {layers}");
        let key = keys[keys.len() / 2].to_string();
        folder.run(&["get", "t.ogive", &key]).exits_with(0);
        folder.run(&["verify", "t.ogive"]).exits_with(0);
    }
}
