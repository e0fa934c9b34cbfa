import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.oozie.cli.OozieCLI;

/**
 * Runs commands of the real `oozie` client in one process: a line of standard input is a command, its arguments with U+0001
 * between. The answer is a line with its exit code and the lengths of what it wrote to both streams, and then what it wrote.
 */
public class OozieCommands {
    public static void main(String[] unused) throws Exception {
        PrintStream answers = System.out;
        InputStreamReader bytes = new InputStreamReader(System.in, StandardCharsets.UTF_8);
        BufferedReader commands = new BufferedReader(bytes);
        for (String line; (line = commands.readLine()) != null; ) {
            String[] arguments = line.isEmpty() ? new String[0] : line.split("\u0001", -1);
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
            int exit;
            try {
                exit = new OozieCLI().run(arguments);
            } catch (Throwable thrown) {
                thrown.printStackTrace();
                exit = -99;
            }
            System.out.flush();
            System.err.flush();
            answers.println(exit + " " + out.size() + " " + err.size());
            out.writeTo(answers);
            err.writeTo(answers);
            answers.flush();
        }
    }
}
