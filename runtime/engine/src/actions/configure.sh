# Calls the <config-class> of a map-reduce action, as Oozie's launcher does before it submits the job.
# In: the client, the configuration, and the file for the configuration as the class leaves it; the class is in
# ANKUS_CONFIG_CLASS, and its jars are in HADOOP_CLASSPATH. The class implements an interface of Oozie, which is compiled
# here, behind those jars: one that the action brings counts first.
configure() {
  javac=${JAVA_HOME:+$JAVA_HOME/bin/}javac
  if ! command -v "$javac" > /dev/null; then
    echo "<config-class> needs a JDK: there is no $javac; set JAVA_HOME to one" >&2
    return 1
  fi
  # With the files of the attempt, so that a kill leaves nothing behind.
  classes=$(mktemp -d "${ANKUS_ATTEMPT:-${TMPDIR:-/tmp}}/classes.XXXXXX") || return 1
  mkdir -p "$classes/org/apache/oozie/action/hadoop"
  cat > "$classes/org/apache/oozie/action/hadoop/OozieActionConfiguratorException.java" << 'JAVA'
package org.apache.oozie.action.hadoop;

public class OozieActionConfiguratorException extends Exception {
    public OozieActionConfiguratorException(String message) { super(message); }
    public OozieActionConfiguratorException(Throwable cause) { super(cause); }
    public OozieActionConfiguratorException(String message, Throwable cause) { super(message, cause); }
}
JAVA
  cat > "$classes/org/apache/oozie/action/hadoop/OozieActionConfigurator.java" << 'JAVA'
package org.apache.oozie.action.hadoop;

public interface OozieActionConfigurator {
    void configure(org.apache.hadoop.mapred.JobConf conf) throws OozieActionConfiguratorException;
}
JAVA
  cat > "$classes/AnkusConfigure.java" << 'JAVA'
import java.io.File;
import java.io.FileOutputStream;
import java.io.OutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.oozie.action.hadoop.OozieActionConfigurator;

public class AnkusConfigure {
    public static void main(String[] files) throws Exception {
        File given = new File(files[0]).getAbsoluteFile();
        System.setProperty("oozie.action.conf.xml", given.getPath());
        JobConf conf = new JobConf();
        conf.addResource(new Path(given.toURI()));
        String name = System.getenv("ANKUS_CONFIG_CLASS");
        try {
            Class<? extends OozieActionConfigurator> type = Class.forName(name).asSubclass(OozieActionConfigurator.class);
            type.getDeclaredConstructor().newInstance().configure(conf);
        } catch (Throwable failure) {
            failure.printStackTrace();
            System.err.println("<config-class> " + name + " failed: " + failure);
            System.exit(1);
        }
        try (OutputStream out = new FileOutputStream(files[1])) {
            conf.writeXml(out);
        }
    }
}
JAVA
  jars=${HADOOP_CLASSPATH:+$HADOOP_CLASSPATH:}$classes
  "$javac" -nowarn -Xlint:-options -proc:none -source 8 -target 8 -d "$classes" -cp "$jars:$("$1" classpath)" "$classes/AnkusConfigure.java" \
    "$classes"/org/apache/oozie/action/hadoop/*.java >&2 && HADOOP_CLASSPATH=$jars "$1" AnkusConfigure "$2" "$3"
  ended=$?
  rm -rf "$classes"
  return "$ended"
}
