//! Seeds and saved failures of the fuzz targets: a failure that was found once must not come back.

#[path = "../../fuzz/properties.rs"]
mod properties;

#[test]
fn every_seed_keeps_the_promises() {
    let seeds = crate::root().join("fuzz/seeds");
    for (name, property) in properties::TARGETS {
        let mut count = 0;
        for entry in std::fs::read_dir(seeds.join(name)).expect("each target has seeds") {
            let path = entry.expect("the folder can be read").path();
            let input = std::fs::read(&path).expect("a seed can be read");
            println!("{}", path.display());
            property(&input);
            count += 1;
        }
        println!("{name}: {count} seeds");
        assert!(count > 2, "{name} has seeds");
    }
}
