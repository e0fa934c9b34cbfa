//! Pictures and pages with hostile names in a real browser: it runs none of their scripts and follows none of their
//! links.

use crate::cli::{ankus, folder};
use std::path::Path;
use std::process::Command;

/// Each would leave a mark on the page, or lead out of it, if it were interpreted as more than text.
const ATTACKS: [&str; 12] = [
    "<script>document.documentElement.setAttribute('data-owned','1')</script>",
    "\"><script>document.documentElement.setAttribute('data-owned','2')</script>",
    "'><img src=x onerror=\"document.documentElement.setAttribute('data-owned','3')\">",
    "]]><svg onload=\"document.documentElement.setAttribute('data-owned','4')\"/>",
    "</title><script>document.documentElement.setAttribute('data-owned','5')</script>",
    "</style><script>document.documentElement.setAttribute('data-owned','6')</script>",
    "--><script>document.documentElement.setAttribute('data-owned','7')</script>",
    "\" onload=\"document.documentElement.setAttribute('data-owned','8')\" x=\"",
    "' onmouseover='document.documentElement.setAttribute(\"data-owned\",9)' x='",
    "javascript:document.documentElement.setAttribute('data-owned','10')",
    "&lt;script&gt;document.documentElement.setAttribute('data-owned','11')&lt;/script&gt;",
    "</text></g></svg><script>document.documentElement.setAttribute('data-owned','12')</script>",
];

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A workflow in which every name is an attack.
fn workflow() -> String {
    let name = |at: usize| escaped(ATTACKS[at % ATTACKS.len()]);
    let mut text = format!(
        "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"{}\"><start to=\"{}\"/>",
        name(0),
        name(0)
    );
    for at in 0..ATTACKS.len() {
        let next = if at + 1 < ATTACKS.len() { name(at + 1) } else { "end".to_owned() };
        text.push_str(&format!(
            "<action name=\"{0}\"><sub-workflow><app-path>{0}</app-path></sub-workflow><ok to=\"{next}\"/><error to=\"k{0}\"/></action>\
             <kill name=\"k{0}\"><message>{0}</message></kill>",
            name(at)
        ));
    }
    text + "<end name=\"end\"/></workflow-app>"
}

/// A coordinator with hostile paths and, unless `is_plain`, hostile names.
fn coordinator(is_plain: bool) -> String {
    let name = |at: usize| if is_plain { format!("d{at}") } else { escaped(ATTACKS[at]) };
    let mut text = format!(
        "<coordinator-app xmlns=\"uri:oozie:coordinator:0.4\" name=\"{}\" frequency=\"${{coord:days(1)}}\" start=\"2020-01-01T00:00Z\" end=\"2020-01-03T00:00Z\" timezone=\"UTC\"><datasets>",
        name(1)
    );
    for (at, attack) in ATTACKS.into_iter().enumerate() {
        text.push_str(&format!(
            "<dataset name=\"{1}\" frequency=\"${{coord:days(1)}}\" initial-instance=\"2020-01-01T00:00Z\" timezone=\"UTC\"><uri-template>{0}</uri-template></dataset>",
            escaped(attack),
            name(at)
        ));
    }
    text.push_str("</datasets><input-events>");
    for at in 0..ATTACKS.len() {
        text.push_str(&format!(
            "<data-in name=\"{0}\" dataset=\"{0}\"><instance>${{coord:current(0)}}</instance></data-in>",
            name(at)
        ));
    }
    text + &format!(
        "</input-events><action><workflow><app-path>{}</app-path></workflow></action></coordinator-app>",
        escaped(ATTACKS[9])
    )
}

fn bundle() -> String {
    let mut text =
        format!("<bundle-app xmlns=\"uri:oozie:bundle:0.2\" name=\"{}\">", escaped(ATTACKS[2]));
    for attack in ATTACKS {
        text.push_str(&format!(
            "<coordinator name=\"{0}\"><app-path>{0}</app-path></coordinator>",
            escaped(attack)
        ));
    }
    text + "</bundle-app>"
}

pub(crate) fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = names.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    if found.is_none() {
        println!("skipped: there is no {}", names.join(", nor "));
    }
    found
}

/// The document in the browser after its scripts have run.
fn shown(browser: &str, page: &Path, width: u32) -> String {
    let profile = tempfile::tempdir().expect("a folder");
    let shown = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .args(["--no-first-run", "--disable-sync", "--disable-component-update", "--dump-dom"])
        .arg(format!("--window-size={width},800"))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    String::from_utf8_lossy(&shown.stdout).into_owned()
}

#[test]
fn nothing_of_a_name_runs_in_a_browser() {
    let Some(browser) = browser() else { return };
    let tree = folder(&[
        ("app/workflow.xml", &workflow()),
        ("daily/coordinator.xml", &coordinator(false)),
        ("plain/coordinator.xml", &coordinator(true)),
        ("all/bundle.xml", &bundle()),
        // A folder's name cannot contain a slash.
        (&format!("{}/workflow.xml", ATTACKS[2]), &workflow()),
        (
            "control.html",
            "<html><body><script>document.documentElement.setAttribute('data-owned','0')</script></body></html>",
        ),
    ]);
    // The control: the browser does run scripts, and this test notices.
    let control = shown(browser, &tree.path().join("control.html"), 1280);
    assert!(control.contains("data-owned=\"0\""), "{control}");
    for (page, arguments) in [
        ("workflow.svg", &["graph", "app", "--format", "svg"][..]),
        ("expanded.svg", &["graph", "app", "--expand-sub-workflows", "--data", "--format", "svg"]),
        ("coordinator.svg", &["graph", "daily", "--format", "svg"]),
        ("bundle.svg", &["graph", "all", "--format", "svg"]),
        ("timeline.svg", &["timeline", "plain", "--format", "svg"]),
        ("estate.html", &["inventory", ".", "--format", "html"]),
    ] {
        let run = ankus(arguments).folder(tree.path()).run();
        let drawn = if page.ends_with("svg") { "<svg" } else { "<table" };
        assert!(run.stdout.contains(drawn), "{page}: {run:?}");
        assert!(run.stdout.contains("data-owned"), "{page} shows the names");
        let path = tree.path().join(page);
        std::fs::write(&path, &run.stdout).expect("writable");
        let dom = shown(browser, &path, 1280);
        assert!(dom.contains(drawn), "{page} is not shown: {dom}");
        let root = dom.find("<svg").and_then(|at| dom[at..].split('>').next()).unwrap_or_default();
        let html = dom.find("<html").and_then(|at| dom[at..].split('>').next()).unwrap_or_default();
        assert!(
            !root.contains("data-owned") && !html.contains("data-owned"),
            "{page}: {html} {root}"
        );
        let lower = dom.to_lowercase();
        assert!(!lower.contains("<img") && !lower.contains("href=\"javascript:"), "{page}: {dom}");
        for handler in ["onload=", "onerror=", "onmouseover="] {
            let is_attribute = |at: usize| {
                let before = &lower[..at];
                before.rfind('<') > before.rfind('>')
                    && before[before.rfind('<').unwrap_or(0)..]
                        .matches('"')
                        .count()
                        .is_multiple_of(2)
            };
            let found = lower.match_indices(handler).any(|(at, _)| is_attribute(at));
            assert!(!found, "{page}: {handler} became an attribute: {dom}");
        }
    }
}

/// The page of an inventory fits the width of a screen and of a phone.
#[test]
fn the_page_of_an_inventory_fits_its_window() {
    let Some(browser) = browser() else { return };
    let projects = crate::root().join("fixtures/projects");
    let page = ankus(&["inventory", ".", "--format", "html"]).folder(&projects).run().stdout;
    let script = "<script>document.documentElement.setAttribute('data-fits', \
        document.documentElement.scrollWidth <= window.innerWidth)</script></body>";
    let measured = page.replace("</body>", script);
    assert_ne!(page, measured);
    let place = folder(&[("page.html", &measured)]);
    for width in [1280, 500] {
        let dom = shown(browser, &place.path().join("page.html"), width);
        assert!(dom.contains("data-fits=\"true\""), "{width}: {}", &dom[..dom.len().min(300)]);
    }
    // Windows of Chromium are at least 500 pixels wide; a frame can be narrower.
    let frame = "<html><body><iframe id=\"f\" width=\"390\" height=\"800\" srcdoc=\"PAGE\"></iframe></body>\
        <script>document.getElementById('f').onload = function () { var d = this.contentDocument.documentElement; \
        document.documentElement.setAttribute('data-frame', d.getAttribute('data-fits')); };</script></html>";
    let inner = measured.replace('&', "&amp;").replace('"', "&quot;");
    std::fs::write(place.path().join("frame.html"), frame.replace("PAGE", &inner))
        .expect("writable");
    let dom = shown(browser, &place.path().join("frame.html"), 1280);
    assert!(dom.contains("data-frame=\"true\""), "390: {}", &dom[..dom.len().min(300)]);
}
