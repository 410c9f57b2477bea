package multimed;

import java.util.List;
import java.util.Map;
import multimed.apply.Apply;
import multimed.capture.Capture;
import multimed.capture.CaptureConfig;
import multimed.engine.DecodeRate;
import multimed.log.LogPrinter;
import multimed.process.ConfigException;
import multimed.process.ExitStatus;
import multimed.verify.Verify;

/**
 * In: a subcommand and the environment. Out: the process's exit status: 0 stopped on request, 64 wrong usage or settings,
 * anything else a fatal error that a restart may or may not cure. Must never: print a secret.
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        System.exit(run(List.of(args), System.getenv()));
    }

    static int run(List<String> args, Map<String, String> env) {
        try {
            return dispatch(args, env);
        } catch (ConfigException e) {
            e.mistakes().forEach(m -> System.err.println("configuration: " + m));
            return ExitStatus.USAGE;
        }
    }

    private static int dispatch(List<String> args, Map<String, String> env) {
        switch (args.isEmpty() ? "" : args.get(0)) {
            case "capture":
                return Capture.run(env);
            case "apply":
                return Apply.run(env);
            case "archive":
                return ClassArchive.run(System.getProperty("java.class.path"));
            case "decode":
                return DecodeRate.run(CaptureConfig.forReading(env).master());
            case "log":
                return LogPrinter.run(args.subList(1, args.size()), env);
            case "verify":
                return Verify.run(args.subList(1, args.size()), env);
            default:
                System.err.println(
                        "usage: cdc-applier capture | apply | log [--from OFFSET] [--follow] | verify [SATELLITE:PORT...] | decode");
                return ExitStatus.USAGE;
        }
    }
}
