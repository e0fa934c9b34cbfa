//! Slips in programs that actions run: main classes, scripts, and their options.

use crate::cli::ankus;
use crate::slips::{DAILY, GIVEN, SHELL, one_action, told, tree};

/// The sources of the tree show how a main class is spelled.
#[test]
fn a_main_class_is_compared_with_the_sources() {
    let flow = |class: &str| {
        format!(
            "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'>
  <java><job-tracker>rm:8032</job-tracker><name-node>hdfs://nn</name-node>
  <main-class>{class}</main-class></java><ok to='end'/><error to='bad'/></action>
  <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
        )
    };
    let tell = |class: &str, source: (&str, &str), given: &str| {
        told(&[
            ("pom.xml", "<project/>"),
            ("app/oozie/workflow.xml", &flow(class)),
            ("app/oozie/job.properties", given),
            source,
        ])
    };
    let given = "oozie.wf.application.path=/apps/x\nmainClass=com.acme.load.Dialy\n";
    let words = "warning: no source here has the class";
    for source in [
        (
            "app/src/main/java/com/acme/load/Daily.java",
            "package com.acme.load;\npublic class Daily {}\n",
        ),
        (
            "app/src/main/scala/com/acme/load/Daily.scala",
            "package com.acme.load\nobject Daily extends App\n",
        ),
        ("app/src/main/kotlin/com/acme/load/Daily.kt", "package com.acme.load\nobject Daily {}\n"),
    ] {
        for (class, found) in [
            ("com.acme.load.Daily", String::new()),
            ("org.other.Dialy", String::new()),
            ("com.acme.load.Monthly", String::new()),
            (
                "com.acme.load.Dialy",
                format!(
                    "app/oozie/workflow.xml:3:15: {words} `com.acme.load.Dialy` [misspelt-class-name]\n"
                ),
            ),
            (
                "com.acme.laod.Daily",
                format!(
                    "app/oozie/workflow.xml:3:15: {words} `com.acme.laod.Daily` [misspelt-class-name]\n"
                ),
            ),
            (
                "com.acme.Daily",
                format!(
                    "app/oozie/workflow.xml:3:15: {words} `com.acme.Daily` [misspelt-class-name]\n"
                ),
            ),
            (
                "${mainClass}",
                format!(
                    "app/oozie/job.properties:2:11: {words} that is the value of `mainClass` [misspelt-class-name]\n"
                ),
            ),
        ] {
            assert_eq!(tell(class, source, given), found, "{class} {}", source.0);
        }
    }
    // At the top of the tree, a source is in no folder of its package.
    let top = ("Daily.java", "package com.acme.load;\npublic class Daily {}\n");
    assert_eq!(
        tell("com.acme.load.Dialy", top, given),
        format!(
            "app/oozie/workflow.xml:3:15: {words} `com.acme.load.Dialy` [misspelt-class-name]\n"
        )
    );
    // A source may define more than its name says.
    let both = "package com.acme.load\nobject Daily\nobject Dialy\n";
    let source = ("app/src/main/scala/com/acme/load/Daily.scala", both);
    assert_eq!(tell("com.acme.load.Dialy", source, given), "");
    // A value from the command line is not written over the name of its property.
    let folder = tree(&[
        ("app/oozie/workflow.xml", &flow("${mainClass}")),
        ("app/src/main/java/com/acme/load/Daily.java", "package com.acme.load;\nclass Daily {}\n"),
    ]);
    let given = ["-D", "mainClass=com.acme.load.Dialy", "--fix", "--unsafe-fixes", "app"];
    let said = ankus(&[&["check", "--no-cache"], &given[..]].concat()).folder(folder.path()).run();
    assert!(said.stdout.contains("the class that is the value of `mainClass`"), "{}", said.stdout);
    let kept = std::fs::read_to_string(folder.path().join("app/oozie/workflow.xml"));
    assert_eq!(kept.expect("it is there"), flow("${mainClass}"));
}

/// The path of a script may come from the properties, or from the coordinator.
#[test]
fn a_script_that_is_named_by_a_property_is_read() {
    let flow = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'>
  <hive xmlns='uri:oozie:hive-action:0.5'><job-tracker>${jobTracker}</job-tracker><name-node>${nameNode}</name-node>
  <script>${script}</script><param>day=1</param></hive><ok to='end'/><error to='bad'/></action>
  <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nscript=SCRIPT\noozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}/apps/x\n";
    let tell = |script: &str, path: &str| {
        told(&[
            ("x/workflow.xml", flow),
            ("x/load.hql", script),
            ("x/job.properties", &given.replace("SCRIPT", path)),
        ])
    };
    let words =
        "warning: the script reads `region`, which no `param` sets [script-parameter-missing]\n";
    for path in ["load.hql", "${nameNode}/apps/x/load.hql"] {
        assert_eq!(tell("SELECT '${day}';\n", path), "", "{path}");
        let found = tell("SELECT '${day}', '${region}';\n", path);
        assert_eq!(found, format!("x/workflow.xml:3:11: {words}"), "{path}");
    }
    let daily = DAILY.replace("inputFolder", "script").replace("${nameNode}/in", "load.hql");
    let found = told(&[
        ("x/workflow.xml", flow),
        ("x/load.hql", "SELECT '${day}', '${region}';\n"),
        ("x/coordinator.xml", &daily),
        ("x/coordinator.properties", &(GIVEN.to_owned() + "oozie.use.system.libpath=true\n")),
    ]);
    assert_eq!(found, format!("x/workflow.xml:3:11: {words}"));
}

/// A script above the folders of the applications belongs to each of them.
#[test]
fn a_script_is_lost_where_nothing_of_its_name_is_in_the_tree() {
    let flow = |path: &str| {
        format!(
            "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'>
  <hive xmlns='uri:oozie:hive-action:0.5'><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node>
  <script>{path}</script></hive><ok to='end'/><error to='bad'/></action>
  <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
        )
    };
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nscript=daly.sql\noozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}/apps/x\n";
    let tell = |path: &str, script: &str| {
        told(&[
            ("x/workflow.xml", &flow(path)),
            ("x/job.properties", given),
            ("x/hive/hourly.sql", "SELECT 1;\n"),
            (script, "SELECT 1;\n"),
        ])
    };
    assert_eq!(tell("${nameNode}/apps/x/load.sql", "load.sql"), "");
    assert_eq!(
        tell("hive/${script}", "x/hive/daily.sql"),
        "x/job.properties:3:8: warning: the application has no file `daly.sql` [missing-application-file]\n"
    );
    assert_eq!(tell("hive/${script}", "x/hive/daly.sql"), "");
}

/// A script whose name is the value of one property is looked for like one that is named directly. If a file is staged
/// under almost its name, that is the slip.
#[test]
fn scripts_are_told_where_the_slip_is() {
    let flow = SHELL.replace("${inputFolder}", "--in");
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nexec=say.sh\noozie.wf.application.path=${nameNode}/a\n";
    let tell = |flow: &str| {
        told(&[("a/workflow.xml", flow), ("a/say.sh", "echo a\n"), ("a/job.properties", given)])
    };
    let by_property = flow.replace("<exec>say.sh</exec>", "<exec>${exec}</exec>");
    let without = by_property.replace("<file>say.sh</file>", "");
    assert!(without != by_property && tell(&by_property).is_empty(), "{}", tell(&by_property));
    let found = tell(&without);
    assert!(
        found.contains("no `file` element ships `say.sh`") && found.lines().count() == 1,
        "{found}"
    );
    let renamed = flow.replace("<file>say.sh</file>", "<file>sya.sh</file>");
    let at = renamed.lines().position(|line| line.contains("sya.sh")).unwrap_or_default() + 1;
    let found = tell(&renamed);
    assert!(
        found.starts_with(&format!("a/workflow.xml:{at}:")) && found.lines().count() == 1,
        "{found}"
    );
}

#[test]
fn the_script_of_an_interpreter_has_to_be_brought() {
    let job =
        "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.wf.application.path=${nameNode}/app\n";
    let body = |exec: &str, words: &str| {
        format!(
            "<shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node>
<exec>{exec}</exec>{words}</shell>"
        )
    };
    let file = "<file>${nameNode}/scripts/load.py#load.py</file>";
    let is_told = |exec: &str, words: &str| {
        one_action(&body(exec, words), job).contains("[shell-script-not-shipped]")
    };
    assert!(is_told("python3", &format!("<argument>laod.py</argument>{file}")));
    assert!(is_told("/bin/bash", "<argument>load.sh</argument>"));
    assert!(!is_told("python3", &format!("<argument>load.py</argument>{file}")));
    // `lib` is always staged, an archive may contain the file, and an option may take a value.
    assert!(!is_told("python3", "<argument>x.py</argument>"));
    assert!(!is_told("python3", "<argument>a.py</argument><archive>a.zip#a</archive>"));
    assert!(!is_told("python3", "<argument>-m</argument><argument>load.py</argument>"));
    assert!(!is_told("cat", "<argument>load.py</argument>"));
}

#[test]
fn options_of_the_tool_that_a_saved_job_runs_are_read() {
    let job = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}/app\n";
    let body = |option: &str| {
        format!(
            "<sqoop xmlns='uri:oozie:sqoop-action:0.2'><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node>
<arg>job</arg><arg>--exec</arg><arg>pull</arg><arg>--</arg>
<arg>{option}</arg><arg>/in</arg></sqoop>"
        )
    };
    assert_eq!(one_action(&body("--target-dir"), job), "");
    assert!(
        one_action(&body("--targt-dir"), job)
            .starts_with("app/workflow.xml:4:6: warning: Sqoop has no option `--targt-dir`")
    );
}

/// The server drops the name of the program before a tool, and Sqoop gets the options behind it.
#[test]
fn options_are_checked_behind_the_name_of_the_program() {
    let flow = |command: &str| {
        format!(
            "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'>
  <sqoop xmlns='uri:oozie:sqoop-action:0.4'><job-tracker>rm:8032</job-tracker><name-node>hdfs://nn</name-node>
  <command>{command}</command></sqoop><ok to='end'/><error to='bad'/></action>
  <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
        )
    };
    let tell = |command: &str| told(&[("workflow.xml", &flow(command))]);
    assert_eq!(tell("sqoop import --connect ${url} --table orders --target-dir /in"), "");
    assert_eq!(
        tell("sqoop import --connect ${url} --table orders --target-dri /in"),
        "workflow.xml:3:57: warning: Sqoop has no option `--target-dri`, and refuses it [misspelt-sqoop-option]\n"
    );
}

/// A server removes the quotes around a whole value of an option.
#[test]
fn spark_gets_values_without_their_quotes() {
    let tell = |options: &str| {
        let flow = format!(
            "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'>
  <spark xmlns='uri:oozie:spark-action:0.2'><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node>
  <master>yarn</master><mode>client</mode><name>n</name><class>a.Main</class><jar>hdfs://nn/a.jar</jar>
  <spark-opts>{options}</spark-opts></spark><ok to='end'/><error to='bad'/></action>
  <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
        );
        told(&[("workflow.xml", &flow)])
    };
    let found = tell("--conf spark.dynamicAllocation.maxExecutors=\"8\" --executor-memory \"4G\"");
    assert!(!found.contains("malformed-property-value"), "{found}");
    let found = tell("--conf spark.dynamicAllocation.enabled=\"ture\" --executor-memory \"4X\"");
    assert_eq!(found.matches("[malformed-property-value]").count(), 2, "{found}");
}

/// A line break is no separator, and neither is the `\` before it.
#[test]
fn a_command_on_several_lines_becomes_one_line() {
    let flow = |command: &str| {
        format!(
            "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'>
  <sqoop xmlns='uri:oozie:sqoop-action:0.4'><job-tracker>rm</job-tracker><name-node>hdfs://nn</name-node>
  <command>{command}</command></sqoop><ok to='end'/><error to='bad'/></action>
  <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
        )
    };
    let folder = tree(&[("workflow.xml", &flow("job --exec a \\\n   --meta-connect\\b\n c"))]);
    let run = ankus(&["check", "--fix", "--unsafe-fixes", "--select", "sqoop-command-newlines"]);
    run.folder(folder.path()).run();
    let mended = std::fs::read_to_string(folder.path().join("workflow.xml")).expect("a text");
    assert_eq!(mended, flow("job --exec a --meta-connect\\b c"));
}

/// Each tool of Sqoop has its own options, and refuses whatever belongs to none.
#[test]
fn tools_of_sqoop_have_options_of_their_own() {
    let job = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\ntable=orders\ncompress=--compress\noozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}/app\n";
    let tell = |words: &str| {
        let body = format!(
            "<sqoop xmlns='uri:oozie:sqoop-action:0.4'><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node>
{words}</sqoop>"
        );
        one_action(&body, job)
    };
    let commands = |wrong: &[(&str, &str)]| {
        for (command, message) in wrong {
            let found = tell(&format!("<command>{command}</command>"));
            let is_it = if message.is_empty() {
                found.is_empty()
            } else {
                found.contains(message) && found.lines().count() == 1
            };
            assert!(is_it, "{command}: {found}");
        }
    };
    commands(&[
        ("evla --connect a --query b", "Sqoop has no tool `evla`"),
        ("jobs --exec a", "Sqoop has no tool `jobs`"),
        ("IMPORT --connect a --table b", "Sqoop has no tool `IMPORT`"),
        ("-Da=b import --connect a --table b", "the name of a tool must come before `-Da`"),
        ("--options-file a --table b", ""),
        ("job --exec", "`--exec` has no value"),
        ("job --exec --meta-connect a", "`--exec` has no value"),
        ("export --exec a", "the tool `export` has no option `--exec`"),
        ("eval --connect a -f b", "the tool `eval` has no option `-f`"),
        ("list-tables --connect a --table b", "the tool `list-tables` has no option `--table`"),
        ("job -exec a", ""),
        ("job --create a -- import --connect b --table c", ""),
        ("import --connect a --table b --direct true -m 4", "`true` belongs to no option"),
        ("import --connect a ${table} b --table c", ""),
        ("import -Da=b -conf c --connect a --table b --m 4 -z -P", ""),
        ("import --connect a --table b -- --schema c", ""),
        ("import --connect a --table b -m four", "the value of `-m` is not a number"),
        (
            "import --connect a --table b --incremental apend",
            "is neither `append` nor `lastmodified`",
        ),
        ("export --connect a --table b --update-mode insert", "is neither `updateonly` nor"),
        ("job --exec a;", "the `;` is part of the value of `--exec`"),
        ("help import", ""),
    ]);
    let words =
        |words: &[&str]| words.iter().map(|word| format!("<arg>{word}</arg>")).collect::<String>();
    let found = tell(&words(&["eval", "--connect", "a", "select 1"]));
    assert!(found.contains("`select 1` belongs to no option"), "{found}");
    let found = tell(&words(&["export", "--connect", "a", "${table}", "--export-dir", "b"]));
    assert!(found.contains("this value belongs to no option"), "{found}");
    let found = tell(&words(&["import --connect", "a"]));
    assert!(found.contains("the tool `import` and what follows are several arguments"), "{found}");
    assert_eq!(
        tell(&words(&["import", "--connect", "a", "${compress}", "--table", "${table}", ""])),
        ""
    );
}

/// Options in the value of a property are checked like others, and so are those after an expression.
#[test]
fn options_of_spark_are_checked_in_properties() {
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}/app\n";
    let tell = |options: &str, value: &str| {
        let body = format!(
            "<spark xmlns='uri:oozie:spark-action:0.2'><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node>
<master>yarn</master><mode>cluster</mode><name>n</name><jar>lib/x.py</jar>
<spark-opts>{options}</spark-opts></spark>"
        );
        one_action(&body, &format!("{given}sparkOpts={value}\n"))
    };
    for options in
        ["${sparkOpts}", "${wf:conf('sparkOpts')} --conf spark.a=b", "--queue a ${sparkOpts}"]
    {
        assert_eq!(tell(options, "--executor-memory 4g --num-executors 8"), "");
        assert_eq!(
            tell(options, "--executor-memroy 4g --num-executors 8"),
            "app/job.properties:5:11: warning: `spark-submit` has no option `--executor-memroy`, and refuses it [misspelt-spark-option]\n"
        );
        assert_eq!(
            tell(options, "--executor-memory 4g -num-executors 8"),
            "app/job.properties:5:32: warning: `spark-submit` has no option `-num-executors`, and refuses it [misspelt-spark-option]\n"
        );
    }
    let found = tell("${sparkOpts} --conf spark.executor.extraLibraryPath /opt/lib", "--queue a");
    assert!(
        found.starts_with(
            "app/workflow.xml:4:33: warning: `spark.executor.extraLibraryPath` has no value"
        ),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// `config-default.xml` gives values as properties files do.
#[test]
fn values_in_the_defaults_are_checked() {
    let flow = SHELL.replace("${inputFolder}", "--in");
    let tell = |node: &str, library: &str| {
        let defaults = format!(
            "<configuration>
<property><name>nameNode</name><value>{node}</value></property>
<property><name>jobTracker</name><value>rm:8032</value></property>
<property><name>oozie.use.system.libpath</name><value>{library}</value></property>
</configuration>"
        );
        told(&[
            ("a/workflow.xml", &flow),
            ("a/say.sh", "echo"),
            ("a/config-default.xml", &defaults),
        ])
    };
    assert_eq!(tell("hdfs://nn:8020", "true"), "");
    let found = tell("hdfs://nn:8020", "ture");
    assert_eq!(
        found,
        "a/config-default.xml:4:55: warning: the value of `oozie.use.system.libpath` is almost `true`, but is treated as false [malformed-property-value]\n"
    );
    let found = tell("hdfs//nn:8020", "true");
    assert!(
        found.starts_with("a/config-default.xml:2:39: ") && found.lines().count() == 1,
        "{found}"
    );
}

/// Values of properties that have a few, numbers with letters, and options of Java.
#[test]
fn values_of_known_properties_are_checked() {
    let given =
        "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.wf.application.path=${nameNode}/app\n";
    let tell = |name: &str, value: &str| {
        let body = format!(
            "<java><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node><configuration>
<property><name>{name}</name><value>{value}</value></property></configuration><main-class>a.Main</main-class></java>"
        );
        one_action(&body, given)
    };
    for (name, right, wrong) in [
        ("hive.exec.dynamic.partition.mode", "NONSTRICT", "non-strict"),
        ("hive.execution.engine", "tez", "tezz"),
        ("mapreduce.job.priority", "high", "HIHG"),
        ("mapred.mapper.class", "a.Map", "a.Map.class"),
        ("mapred.mapper.class", "a.Map", "a..Map"),
        ("hive.tez.container.size", "4096", "4g"),
        ("spark.executor.cores", "4", "4c"),
        ("spark.executor.memory", "4g", "4"),
        ("spark.executor.extraJavaOptions", "-XX:+UseG1GC", "-Xmx4g"),
        ("oozie.launcher.mapreduce.framework.name", "yarn", "yran"),
        ("mapred.output.compression.type", "BLOCK", "BLOK"),
        ("hive.exec.max.dynamic.partitions", "1000", "1OOO"),
        ("spark.sql.shuffle.partitions", "200", "two"),
        ("spark.shuffle.service.enabled", "TRUE", "yes"),
        ("hive.exec.compress.output", "false", "1"),
        ("mapreduce.map.java.opts", "-Xmx1024m -Da=b", "-Xmx1024"),
        ("mapreduce.map.java.opts", "-cp a.jar -Da=b", "-Da b"),
        ("oozie.launcher.mapreduce.map.java.opts", "-Xmx${heap} -Da=b", "-Xmx512k"),
    ] {
        let found = tell(name, right);
        assert!(!found.contains("malformed-property-value"), "{found}");
        let found = tell(name, wrong);
        assert!(
            found.starts_with("app/workflow.xml:3:")
                && found.contains("[malformed-property-value]"),
            "{name} {wrong}: {found}"
        );
        assert_eq!(found.lines().count(), 1, "{found}");
    }
}

/// Packages that many classes have, unless the sources have the same slip.
#[test]
fn misspelt_packages_are_told() {
    let flow = |class: &str| {
        format!(
            "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'>
  <java><job-tracker>rm:8032</job-tracker><name-node>hdfs://nn</name-node>
  <main-class>{class}</main-class></java><ok to='end'/><error to='bad'/></action>
  <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
        )
    };
    for right in [
        "org.apache.oozie.example.Demo",
        "org.apache.hadoop.examples.Sort",
        "org.apache.hama.Demo",
        "org.acme.Load",
        "Load",
    ] {
        assert_eq!(told(&[("workflow.xml", &flow(right))]), "", "{right}");
    }
    for (wrong, column) in [
        ("org.apahce.oozie.example.Demo", 19),
        ("org.apache.haddop.util.RunJar", 26),
        ("org.apache.hadoop.exmaples.Sort", 33),
        ("com.exmaple.Load", 19),
        ("ogr.apache.hadoop.util.RunJar", 15),
    ] {
        let found = told(&[("workflow.xml", &flow(wrong))]);
        assert!(
            found.starts_with(&format!("workflow.xml:3:{column}: "))
                && found.contains("[misspelt-class-name]")
                && found.lines().count() == 1,
            "{wrong}: {found}"
        );
    }
    let source = ("src/main/java/com/exmaple/Load.java", "package com.exmaple;\nclass Load {}\n");
    assert_eq!(told(&[("workflow.xml", &flow("com.exmaple.Load")), source]), "");
}

/// A script that runs on another host, or in a folder that a variable gives, is in the repository.
#[test]
fn programs_are_compared_with_the_scripts_of_the_repository() {
    let flow = |action: &str| {
        format!(
            "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'>
  {action}<ok to='end'/><error to='bad'/></action>
  <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
        )
    };
    let given = "folder=/opt/scripts\noozie.wf.application.path=hdfs://nn/apps/a\n";
    let tell = |command: &str| {
        let ssh = format!(
            "<ssh xmlns='uri:oozie:ssh-action:0.1'><host>ann@host</host><command>{command}</command></ssh>"
        );
        told(&[
            ("oozie/workflow.xml", &flow(&ssh)),
            ("oozie/job.properties", given),
            ("scripts/load_orders.sh", "echo"),
            ("scripts/count_orders.sh", "echo"),
        ])
    };
    assert_eq!(tell("${folder}/load_orders.sh"), "");
    assert_eq!(tell("${folder}/send_orders.sh"), "");
    let found = tell("${folder}/load_order.sh");
    assert_eq!(
        found,
        "oozie/workflow.xml:2:81: warning: `load_order.sh` looks like a misspelling of `load_orders.sh` [misspelt-path]\n"
    );
}

/// One slash before a cluster that other values name, and an address without its colon.
#[test]
fn addresses_are_told_once() {
    let flow = SHELL.replace("${inputFolder}", "--in");
    let tell = |library: &str| {
        let given = format!(
            "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.use.system.libpath=true\noozie.libpath={library}\noozie.wf.application.path=${{nameNode}}/a\n"
        );
        told(&[("a/workflow.xml", &flow), ("a/say.sh", "echo"), ("a/job.properties", &given)])
    };
    assert_eq!(tell("hdfs:/share/lib"), "");
    assert_eq!(
        tell("hdfs:/nn/share/lib"),
        "a/job.properties:4:15: warning: after the scheme `hdfs`, a host is written as `hdfs://host` [malformed-uri]\n"
    );
    let body = "<hive xmlns='uri:oozie:hive-action:0.2'><job-tracker>${jobTracker}</job-tracker><name-node>${nameNode}</name-node><configuration>
<property><name>hive.metastore.uris</name><value>thrift//meta.example.org:9083</value></property></configuration><script>x.q</script></hive>";
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}/app\n";
    let found = one_action(body, given);
    assert!(found.contains("[malformed-uri]") && !found.contains("hardcoded"), "{found}");
}

/// Braces around the whole value of a parameter are meant as a variable, however short its name is.
#[test]
fn a_parameter_in_bare_braces_is_told() {
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\nday=01\noozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}/app\n";
    let body = "<pig><job-tracker>${jobTracker}</job-tracker><name-node>${nameNode}</name-node><script>lib/x.py</script>
<param>today=${day}</param><param>day={day}</param></pig>";
    let found = one_action(body, given);
    assert!(
        found.contains("app/workflow.xml:3:39: warning: `{day}` is text, not the variable `day`"),
        "{found}"
    );
}

/// Values of an application's own properties, whose names show what they contain.
#[test]
fn values_whose_names_tell_are_checked() {
    let tell = |name: &str, value: &str| {
        let body = format!(
            "<java><job-tracker>${{jobTracker}}</job-tracker><name-node>${{nameNode}}</name-node>
<main-class>a.Main</main-class><arg>${{{name}}}</arg></java>"
        );
        let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.wf.application.path=${nameNode}/app\n";
        one_action(&body, &format!("{given}{name}={value}\n"))
    };
    for (name, right, wrong) in [
        ("queueName", "Default", "defualt"),
        ("executorMemory", "4g", "4gg"),
        ("executorMemory", "4000", "4"),
        ("numExecutors", "10", "1O"),
        ("withHeader", "true", "flase"),
        ("library", "hdfs:/share/lib", "hdfs:nn/share/lib"),
        ("database", "jdbc:mysql://h/d", "jdbc:mysql//h/d"),
    ] {
        assert_eq!(tell(name, right), "", "{name}={right}");
        let found = tell(name, wrong);
        assert!(
            found.starts_with("app/job.properties:4:") && found.lines().count() == 1,
            "{name}={wrong}: {found}"
        );
    }
}

/// Arguments of DistCp and Pig, and options of Spark with wrong values.
#[test]
fn arguments_of_other_programs_are_checked() {
    let given = "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.use.system.libpath=true\noozie.wf.application.path=${nameNode}/app\n";
    let places = "<job-tracker>${jobTracker}</job-tracker><name-node>${nameNode}</name-node>";
    let words = |name: &str, words: &[&str]| {
        let all = words.iter().map(|word| format!("<{name}>{word}</{name}>"));
        all.collect::<String>()
    };
    let distcp = |all: &[&str]| {
        let all = words("arg", all);
        one_action(
            &format!("<distcp xmlns='uri:oozie:distcp-action:0.2'>{places}{all}</distcp>"),
            given,
        )
    };
    let pig = |all: &[&str]| {
        let all = words("argument", all);
        one_action(&format!("<pig>{places}<script>lib/x.py</script>{all}</pig>"), given)
    };
    let spark = |options: &str| {
        let body = format!(
            "<spark xmlns='uri:oozie:spark-action:0.2'>{places}<master>yarn</master><mode>cluster</mode><name>n</name>
<jar>lib/x.py</jar><spark-opts>{options}</spark-opts></spark>"
        );
        one_action(&body, given)
    };
    for right in [
        &["-m", "10", "--update", "/a", "/b"][..],
        &["-m 10", "/a", "/b"],
        &["-strategy", "dynamic", "/a", "/b"],
        &["-Da=b", "-log", "/c", "/a", "/b"],
    ] {
        assert_eq!(distcp(right), "", "{right:?}");
    }
    for (wrong, message) in [
        (&["-m", "ten", "/a", "/b"][..], "the value of `-m` is not a number"),
        (&["-bandwidth 10", "/a", "/b"], "`-bandwidth` and its value are two arguments"),
        (&["-bandwidth", "-update", "/a", "/b"], "`-bandwidth` has no value"),
        (&["-strategy", "dynmic", "/a", "/b"], "neither `dynamic` nor `uniformsize`"),
        (&["-Dmapreduce.job.queuename", "/a", "/b"], "has no value"),
        (&["-Dmapreduce.job.queuenam=a", "/a", "/b"], "nothing reads `mapreduce.job.queuenam`"),
    ] {
        let found = distcp(wrong);
        assert!(found.contains(message) && found.lines().count() == 1, "{wrong:?}: {found}");
    }
    for right in [&["-param", "a=b", "-p", "c=d", "-t", "x"][..], &["-param", "${nameNode}", "-M"]]
    {
        assert_eq!(pig(right), "", "{right:?}");
    }
    for (wrong, message) in [
        (&["-param", "a"][..], "`a` has no `=`"),
        (&["-parm", "a=b"], "Pig has no option `-parm`"),
        (&["-param", "-param", "a=b"], "`-param` has no value"),
        (&["-param", "a=b", "c=d"], "`c=d` has no `-param` in front of it"),
    ] {
        let found = pig(wrong);
        assert!(found.contains(message) && found.lines().count() == 1, "{wrong:?}: {found}");
    }
    for right in
        ["--deploy-mode cluster --master yarn", "--executor-memory 4000", "--remote sc://h"]
    {
        assert_eq!(spark(right), "", "{right}");
    }
    for (wrong, message) in [
        ("--deploy-mode clustr", "neither `client` nor `cluster`"),
        ("--master yran", "not a master that Spark knows"),
        ("--executor-memory 4", "its unit is missing"),
        ("--options a=b", "`spark-submit` has no option `--options`"),
        ("--conf spark.executor.extraJavaOptions=-Xmx4g", "refused by Spark"),
    ] {
        let found = spark(wrong);
        assert!(found.contains(message) && found.lines().count() == 1, "{wrong}: {found}");
    }
}

/// Hosts of addresses, names of variables, and values without a colon after their scheme.
#[test]
fn hosts_and_names_with_slips_are_told() {
    let given =
        "nameNode=hdfs://nn:8020\njobTracker=rm:8032\noozie.wf.application.path=${nameNode}/app\n";
    let mail = |to: &str| {
        let body = "<email xmlns='uri:oozie:email-action:0.2'><to>${to}</to><subject>s</subject><body>b</body></email>";
        let by_property = one_action(body, &format!("{given}to={to}\n"));
        (one_action(&body.replace("${to}", to), given), by_property)
    };
    assert_eq!(mail("ann@example.com,bob@gmail.com"), (String::new(), String::new()));
    for wrong in ["ann@.example.com", "ann@example..com", "ann@gmial.com", "ann@example.con"] {
        let (found, by_property) = mail(wrong);
        assert!(found.starts_with("app/workflow.xml:2:") && found.lines().count() == 1, "{found}");
        let is_one = by_property.lines().count() == 1;
        assert!(by_property.starts_with("app/job.properties:4:") && is_one, "{by_property}");
    }
    let places = "<job-tracker>${jobTracker}</job-tracker><name-node>${nameNode}</name-node>";
    let shell = |variable: &str| {
        let body = format!(
            "<shell xmlns='uri:oozie:shell-action:0.3'>{places}<exec>echo</exec><env-var>{variable}</env-var></shell>"
        );
        one_action(&body, given)
    };
    assert_eq!(shell("A=b c"), "");
    assert!(shell("A = b").contains("[shell-env-var-malformed]"));
    let java = |value: &str| {
        let body = format!(
            "<java>{places}<configuration><property><name>a.input</name><value>{value}</value></property></configuration>
<main-class>a.Main</main-class></java>"
        );
        one_action(&body, given)
    };
    assert_eq!(java("/nn/data"), "");
    let found = java("hdfs//nn/data");
    assert!(found.contains("a colon is missing after the scheme `hdfs`"), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

/// A function without `${…}` is text, and one finding says so.
#[test]
fn a_function_without_braces_in_a_decision_is_one_finding() {
    let flow = |case: &str| {
        format!(
            "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><decision name='a'><switch>
  <case to='end'>{case}</case><default to='bad'/></switch></decision>
  <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
        )
    };
    let tell = |case: &str| told(&[("workflow.xml", &flow(case))]);
    assert_eq!(tell("${wf:lastErrorNode() eq 'a'}"), "");
    let found = tell("wf:lastErrorNode() eq 'a'");
    assert!(found.contains("[variable-without-braces]") && found.lines().count() == 1, "{found}");
}
