//! `ankus fmt` as users configure it: with settings, with `.editorconfig`, and in its default layout.

use crate::cli::{ankus, folder};

const ONE_LINE: &str = "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"a\"><start to=\"end\"/><end name=\"end\"/></workflow-app>";

/// The second line of the definition, after formatting in a tree with these files.
fn line(files: &[(&str, &str)], arguments: &[&str]) -> String {
    let tree = folder(&[&[("app/workflow.xml", ONE_LINE)], files].concat());
    let arguments = [&["fmt", "app"], arguments].concat();
    ankus(&arguments).folder(tree.path()).run().said(0, "1 file formatted");
    ankus(&[&["fmt", "--check", "app"], &arguments[2..]].concat())
        .folder(tree.path())
        .run()
        .said(0, "");
    let text = std::fs::read_to_string(tree.path().join("app/workflow.xml")).expect("it is there");
    text.lines().nth(1).expect("several lines").to_owned()
}

#[test]
fn indents_follow_settings_and_editorconfig() {
    let start = "<start to=\"end\"/>";
    let git = (".git/HEAD", "");
    let config = (".editorconfig", "root = true\n[*.xml]\nindent_style = space\nindent_size = 2\n");
    let nearer = ("app/.editorconfig", "[*.xml]\nindent_style = tab\n");
    let settings = ("ankus.toml", "[fmt]\nindent = 3\n");
    assert_eq!(line(&[git], &[]), format!("    {start}"));
    assert_eq!(line(&[git, config], &[]), format!("  {start}"));
    assert_eq!(line(&[git, config, nearer], &[]), format!("\t{start}"));
    assert_eq!(line(&[git, config, nearer, settings], &[]), format!("   {start}"));
    // `--isolated` ignores every file of the tree.
    assert_eq!(line(&[git, config, settings], &["--isolated"]), format!("    {start}"));
    let root = ("app/.editorconfig", "root = true\n");
    assert_eq!(line(&[git, config, root], &[]), format!("    {start}"));
}

#[test]
fn a_tag_is_broken_where_the_width_is_passed() {
    let settings = ("ankus.toml", "[fmt]\nwidth = 40\n");
    assert_eq!(line(&[(".git/HEAD", ""), settings], &[]), "        name=\"a\">");
}

#[test]
fn the_rule_asks_for_the_same_layout() {
    let config = (".editorconfig", "[*.xml]\nindent_size = 2\n");
    let tree = folder(&[("workflow.xml", ONE_LINE), config]);
    let check =
        || ankus(&["check", "--select", "formatting", "--no-cache"]).folder(tree.path()).run();
    check().said(0, "formatting");
    ankus(&["fmt"]).folder(tree.path()).run().said(0, "1 file formatted");
    check().said(0, "nothing to report");
    std::fs::write(tree.path().join(".editorconfig"), "[*.xml]\nindent_size = 4\n")
        .expect("writable");
    check().said(0, "formatting");
}

#[test]
fn a_link_out_of_the_tree_is_not_followed() {
    let outside = folder(&[("config", "[*.xml]\nindent_size = 1\n")]);
    let tree = folder(&[("workflow.xml", ONE_LINE)]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.path().join("config"), tree.path().join(".editorconfig"))
        .expect("a link");
    ankus(&["fmt"]).folder(tree.path()).run().said(0, "1 file formatted");
    let text = std::fs::read_to_string(tree.path().join("workflow.xml")).expect("it is there");
    assert!(text.contains("\n    <start"), "{text}");
    drop(outside);
}
