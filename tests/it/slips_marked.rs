//! Slips that cause several faults in one line of markup or of properties: each is reported once.

use crate::slips::told;

fn flow(body: &str) -> String {
    format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'>\n<start to='a'/>\n<action name='a'>\n{body}\n</action>
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
    )
}

const WAYS: &str = "<ok to='end'/>\n<error to='bad'/>";
const BODY: &str = "<java><job-tracker>rm:8032</job-tracker><name-node>hdfs://nn:8020</name-node>
<configuration>
<property><name>mapreduce.job.queuename</name>
<value>default</value></property>
</configuration><main-class>org.example.Load</main-class>";
const JOB: &str = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.use.system.libpath=true\n";

fn lines(found: &str) -> usize {
    found.lines().count()
}

#[test]
fn markup_with_one_slip_is_one_finding() {
    let app = |body: &str| told(&[("workflow.xml", &flow(body))]);
    let right = format!("{BODY}</java>\n{WAYS}");
    assert_eq!(app(&right), "");
    // The end tag of the action's body after the transitions.
    let found = app(&format!("{BODY}\n{WAYS}\n</java>"));
    assert_eq!(found, "workflow.xml:9:2: error: `java` has no element `ok` [unknown-element]\n");
    // An unclosed start tag, which includes the following text.
    let found = app(&right.replace("<value>default", "<valuea,b"));
    assert!(found.contains("the tag `<value` is never closed"), "{found}");
    assert_eq!(lines(&found), 1, "{found}");
    // A comment that lacks a hyphen.
    let found =
        app(&right.replace("<configuration>", "<!-configuration>\n<x>y</x --><configuration>"));
    assert_eq!(
        found,
        "workflow.xml:5:1: error: a comment begins with `<!--` [xml-not-well-formed]\n"
    );
    // A repeated habit of a user or of a word processor is one fault; the content in between is read.
    for (begin, end, words) in [
        ("<!-", "-->", "begins with `<!--`"),
        ("<--", "-->", "begins with `<!--`"),
        ("<!-", "->", "begins with `<!--` and ends with `-->`"),
        ("<!\u{2014}", "\u{2014}>", "begins with `<!--` and ends with `-->`"),
        ("<!\u{2013}-", "-->", "begins with `<!--`"),
    ] {
        let comment = |text: &str| format!("{begin} {text} {end}\n");
        let often = right
            .replace("<configuration>", &format!("{}<configuration>", comment("one: <b> a")))
            .replace("<main-class>", &format!("{}<main-class>", comment("two")));
        let often = often.replace("<b>", if begin == "<--" { "" } else { "<b>" });
        let found = app(&often);
        assert!(found.contains(words) && lines(&found) == 1, "{begin}: {found}");
        let found = app(&often.replace("to='end'", "to='edn'"));
        assert!(found.contains("[unresolved-transition]"), "{begin}: {found}");
    }
    // Without an end of its own, it is not a comment.
    let found = app(&right.replace("<configuration>", "<!-x><!-- y --><configuration>"));
    assert!(!found.is_empty() && !found.contains("begins with"), "{found}");
}

/// The content of an unreachable node stays unreported if elements elsewhere are out of order.
#[test]
fn an_order_that_is_wrong_makes_no_node_entered() {
    let right = format!("{BODY}</java>\n{WAYS}");
    let dead = flow(&right).replace(
        "<kill",
        "<action name='lost'><email xmlns='uri:oozie:email-action:0.1'><to>a@example.com</to>
<subject>s</subject><body>${wf:errorCode('nowhere')}</body></email><ok to='end'/><error to='bad'/></action>\n<kill",
    );
    let found = told(&[("workflow.xml", &dead)]);
    assert!(found.contains("[unreachable-node]") && lines(&found) == 1, "{found}");
    let moved = dead.replace("<job-tracker>rm:8032</job-tracker>", "").replace(
        "<name-node>hdfs://nn:8020</name-node>",
        "<name-node>hdfs://nn:8020</name-node><job-tracker>rm:8032</job-tracker>",
    );
    let found = told(&[("workflow.xml", &moved)]);
    assert!(found.contains("[element-out-of-order]") && lines(&found) == 2, "{found}");
}

#[test]
fn a_line_of_properties_in_a_comment_of_markup_is_told_where_it_stands() {
    let text = flow(&format!("<fs><mkdir path='${{nameNode}}/out'/></fs>{WAYS}"));
    let job = "oozie.wf.application.path=${nameNode}/apps/w\n<!-- nameNode=hdfs://nn:8020 -->\n";
    let found = told(&[("job.properties", job), ("workflow.xml", &text)]);
    assert_eq!(
        found,
        "job.properties:2:1: warning: `<!--` does not start a comment: this line sets a property [property-without-value]\n"
    );
}

#[test]
fn keys_and_values_of_properties_are_told_from_what_they_were_meant_for() {
    let text = flow(&format!(
        "<java><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node>
<main-class>org.example.Load</main-class></java>{WAYS}"
    ));
    let found = |job: &str| told(&[("job.properties", job), ("workflow.xml", &text)]);
    let path = "oozie.wf.application.path=${nameNode}/user/${user.name}/apps\n";
    assert_eq!(found(&format!("{JOB}{path}")), "");
    assert_eq!(
        found(&format!("{JOB}{path}").replace("use.system.libpath", "libpath")),
        "job.properties:3:15: warning: the value of `oozie.libpath` is not a folder: `oozie.use.system.libpath` switches the share library on [malformed-property-value]\n"
    );
    assert_eq!(
        found(&format!("{JOB}{path}").replace("oozie.wf.", "oozie.")),
        "job.properties:4:1: warning: the server has no property `oozie.application.path` [misspelt-oozie-property]\n"
    );
    assert_eq!(
        found(&format!("{JOB}{path}").replace("}/apps", "}apps")),
        "job.properties:4:56: warning: a `/` is missing after the home folder of a user [misspelt-home-folder]\n"
    );
    // The same for an account whose name begins with another's.
    assert_eq!(found(&format!("{JOB}{path}").replace("}/apps", "}_test/apps")), "");
}

#[test]
fn an_option_of_sqoop_and_its_value_are_two_arguments() {
    let text = |target: &str, url: &str| {
        flow(&format!(
            "<sqoop xmlns='uri:oozie:sqoop-action:0.2'><job-tracker>rm:8032</job-tracker><name-node>hdfs://nn:8020</name-node>
<arg>import</arg><arg>--connect</arg><arg>{url}</arg><arg>--table</arg><arg>orders</arg>
{target}</sqoop>{WAYS}"
        ))
    };
    let found = |target: &str, url: &str| told(&[("workflow.xml", &text(target, url))]);
    let right = "<arg>--target-dir</arg><arg>/data/orders</arg>";
    let url = "jdbc:mysql://db/shop";
    assert_eq!(found(right, url), "");
    assert_eq!(
        found("<arg>--target-dir /data/orders</arg>", url),
        "workflow.xml:6:6: warning: `--target-dir` and its value are two arguments [misspelt-sqoop-option]\n"
    );
    assert_eq!(
        found(right, "jdbc:mysql:/db/shop"),
        "workflow.xml:5:43: warning: a slash is missing: the URL of a database has two before its host [malformed-uri]\n"
    );
}

#[test]
fn a_script_below_the_path_of_the_application_is_read() {
    let hive = |name: &str, params: &str| {
        flow(&format!(
            "<hive xmlns='uri:oozie:hive-action:0.5'><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node>
<script>${{root}}/{name}</script>\n{params}</hive>{WAYS}"
        ))
    };
    let job = format!(
        "{JOB}root=${{nameNode}}/user/${{user.name}}/apps\noozie.wf.application.path=${{root}}/workflow.xml\ntable=t\n"
    );
    let load = "INSERT INTO ${TABLE} SELECT * FROM x WHERE d = '${DAY}';\n";
    let clean = "DELETE FROM ${OLD} WHERE d < '${UNTIL}';\n";
    let found = |name: &str, params: &str| {
        told(&[
            ("job.properties", &job),
            ("workflow.xml", &hive(name, params)),
            ("load.q", load),
            ("clean.q", clean),
        ])
    };
    let right = "<param>TABLE=${table}</param><param>DAY=1</param>";
    assert_eq!(found("load.q", right), "");
    let wrong = right.replace("TABLE=", "TABEL=");
    assert_eq!(
        found("load.q", &wrong),
        "workflow.xml:6:8: warning: the script reads `TABLE`, but is passed `TABEL` [script-parameter-missing]\n"
    );
    // The script of another action.
    assert_eq!(
        found("clean.q", right),
        "workflow.xml:5:9: warning: the script reads `OLD`, which no `param` sets [script-parameter-missing]\n"
    );
}

/// An element behind the one that it belongs into, a missing wrapper, and what an unterminated comment hides.
#[test]
fn parts_in_another_place_are_told_once() {
    let app = |body: &str| told(&[("workflow.xml", &flow(body))]);
    let right = format!("{BODY}</java>\n{WAYS}");
    // A property after the end of its configuration.
    let property =
        "<property><name>mapreduce.job.queuename</name>\n<value>default</value></property>\n";
    let found = app(&right
        .replace(property, "")
        .replace("</configuration>", &format!("</configuration>\n{property}")));
    assert_eq!(
        found,
        "workflow.xml:7:2: error: `java` has no element `property` [unknown-element]\n"
    );
    // An argument after the body of its action.
    let found = app(&right.replace("</java>", "</java>\n<arg>x</arg>"));
    assert_eq!(
        found,
        "workflow.xml:9:2: error: there is no action type `arg` [unsupported-action-type]\n"
    );
    // An attribute without its equals sign: the namespace.
    let found = told(&[("workflow.xml", &flow(&right).replace("xmlns=", "xmlns "))]);
    assert_eq!(lines(&found), 1, "{found}");
    assert!(found.contains("the `=` after `xmlns` is missing"), "{found}");
    // A node in an unterminated comment.
    let hidden = "<!-- first\n<action name='b'><fs><mkdir path='/tmp/b'/></fs><ok to='end'/><error to='bad'/></action>\n<!-- last -->\n<kill";
    let found = told(&[(
        "workflow.xml",
        &flow(&right.replace("<ok to='end'/>", "<ok to='b'/>")).replacen("<kill", hidden, 1),
    )]);
    assert_eq!(lines(&found), 1, "{found}");
    assert!(found.contains("workflow.xml:14:3: error: `--` is not allowed"), "{found}");
    // The content of a coordinator's action, without the element around it.
    let daily = "<coordinator-app name='c' frequency='${coord:days(1)}' start='2026-01-01T00:00Z' end='2027-01-01T00:00Z'
  timezone='UTC' xmlns='uri:oozie:coordinator:0.4'>
  <action>

    <app-path>hdfs://nn/w</app-path>
    <configuration><property><name>a</name><value>b</value></property></configuration>
  </action></coordinator-app>";
    assert_eq!(
        told(&[("coordinator.xml", daily)]),
        "coordinator.xml:5:6: error: `action` needs `workflow` [missing-element]\n"
    );
}

/// Function calls that lack only the braces, and paths that lack everything.
#[test]
fn calls_and_paths_that_say_nothing_are_told() {
    let app = |text: &str| {
        let flow = flow(&format!("<fs>\n<mkdir path='${{nameNode}}/out'/></fs>\n{WAYS}"));
        told(&[("workflow.xml", &flow.replace("<message>bad", &format!("<message>{text}")))])
    };
    assert_eq!(app("failed: ${wf:errorMessage(wf:lastErrorNode())}"), "");
    assert_eq!(
        app("failed: [wf:errorMessage(wf:lastErrorNode())]"),
        "workflow.xml:9:36: warning: `wf:errorMessage(wf:lastErrorNode())` is text and does not call a function \
         [variable-without-braces]\n"
    );
    // Unknown functions, parts of longer words and unclosed calls are plain text.
    for words in ["wf:total(1)", "nwf:id()", "see wf:id(", "wf:id and fs: exists(x)"] {
        assert_eq!(app(words), "", "{words}");
    }
    let flow = |path: &str| flow(&format!("<fs>\n<mkdir path='{path}'/></fs>\n{WAYS}"));
    assert_eq!(
        told(&[("workflow.xml", &flow(" "))]),
        "workflow.xml:5:8: warning: `path` is empty [required-element-empty]\n"
    );
}

/// A slip in a transition is reported although the end is missing, and one in a deleted path although no other path has
/// the name.
#[test]
fn slips_are_told_beside_what_is_missing() {
    let ways = WAYS.replace("to='end'", "to='laod'");
    let flow = flow(&format!("<fs><mkdir path='${{nameNode}}/out'/></fs>\n{ways}"));
    let load = "<action name='load'><fs><mkdir path='${nameNode}/in'/></fs><ok to='end'/><error to='bad'/></action>";
    let found = told(&[(
        "workflow.xml",
        &flow.replace("<end name='end'/>", "").replace("<kill", &format!("{load}\n<kill")),
    )]);
    assert_eq!(lines(&found), 2, "{found}");
    assert!(found.contains("needs `end`") && found.contains("no node `laod`"), "{found}");
    let body = |deleted: &str| {
        format!(
            "<map-reduce><job-tracker>rm:8032</job-tracker><name-node>hdfs://nn:8020</name-node>
<prepare><delete path='hdfs://nn:8020/out/{deleted}'/></prepare>
<configuration>
<property><name>mapred.mapper.class</name><value>org.example.Count</value></property>
<property><name>mapred.input.dir</name><value>/in/orders</value></property>
<property><name>mapred.output.dir</name><value>/out/counts/</value></property>
</configuration></map-reduce>\n{WAYS}"
        )
    };
    let app = |deleted: &str| told(&[("workflow.xml", &self::flow(&body(deleted)))]);
    assert_eq!(app("counts"), "");
    // Another digit is another folder, and so is another word.
    for other in ["counts2", "totals"] {
        assert_eq!(app(other), "", "{other}");
    }
    let found = app("conuts");
    assert_eq!(lines(&found), 1, "{found}");
    assert!(found.contains("`conuts` looks like a misspelling of `counts`, where"), "{found}");
}

/// A missing end of one action and beginning of the next are one fault.
#[test]
fn two_actions_that_run_together_are_one_finding() {
    let action = |name: &str, ok: &str| {
        format!(
            "<action name='{name}'>\n<fs><mkdir path='${{nameNode}}/{name}'/></fs>\n<ok to='{ok}'/><error to='bad'/></action>\n"
        )
    };
    let both = format!("{}{}", action("one", "two"), action("two", "end"));
    let tell = |actions: &str| {
        let flow = format!(
            "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'>\n<start to='one'/>\n{actions}
<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
        );
        told(&[("workflow.xml", &flow)])
    };
    assert_eq!(tell(&both), "");
    let found = tell(&both.replace("</action>\n<action name='two'>", ""));
    assert_eq!(
        found,
        "workflow.xml:6:2: error: `action` may contain only one `fs` [duplicate-single-element]\n"
    );
    let email = "<email xmlns='uri:oozie:email-action:0.1'><to>a@b.org</to><subject>s</subject><body>b</body></email>";
    let other = both.replace("<fs><mkdir path='${nameNode}/two'/></fs>", email);
    let found = tell(&other.replace("</action>\n<action name='two'>", ""));
    assert!(found.contains("an action has one type") && lines(&found) == 1, "{found}");
    // A transition to a name that no node has is a separate fault.
    let astray = both.replace("to='end'", "to='edn'").replace("</action>\n<action name='two'>", "");
    assert!(tell(&astray).contains("`edn`"));
}

/// A second equals sign after the name of a property is a part of its value.
#[test]
fn one_sign_parts_a_property_from_its_value() {
    let tell = |line: &str| {
        let given =
            format!("{JOB}{line}\noozie.wf.application.path=${{nameNode}}/user/${{user.name}}/a\n");
        told(&[
            ("job.properties", given.as_str()),
            ("workflow.xml", &flow(&format!("{BODY}<arg>${{folder}}</arg></java>\n{WAYS}"))),
        ])
    };
    assert_eq!(tell("folder=/srv/in"), "");
    assert_eq!(tell("folder=="), "");
    for line in ["folder==/srv/in", "folder:=/srv/in", "folder= =${nameNode}/in"] {
        let found = tell(line);
        assert!(
            found.contains("this `=` is part of the value") && lines(&found) == 1,
            "{line}: {found}"
        );
    }
    let found = tell("folder=${nameNode}/user/{user.name}/in");
    assert!(found.contains("`{user.name}` is text, not a reference to `user.name`"), "{found}");
}
