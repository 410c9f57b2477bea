package multimed;

import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;

/**
 * Entry point of {@code cdc-applier archive}, run once when the image is made. In: the class path. Out: the classes that capture and
 * apply can need, loaded, so that the JVM writes them into its archive at exit (-XX:ArchiveClassesAtExit). Capture starts in two
 * thirds of the time with it: reading and checking classes is most of a start.
 */
final class ClassArchive {
    private static final List<String> USED = List.of("multimed/", "io/debezium/", "org/apache/kafka/", "com/github/shyiko/", "com/mysql/",
            "com/google/protobuf/", "com/fasterxml/jackson/", "net/jpountz/", "ch/qos/logback/", "org/slf4j/");
    private static final String UNUSED = "/shaded/";
    private static final String CLASS = ".class";

    private ClassArchive() {}

    /** Returns the exit status. */
    static int run(String classPath) {
        int loaded = 0;
        for (String jar : classPath.split(File.pathSeparator)) {
            try {
                loaded += load(new File(jar));
            } catch (IOException e) {
                System.err.println("archive: " + jar + ": " + e.getMessage());
                return 1;
            }
        }
        System.out.println("archive: " + loaded + " classes");
        return 0;
    }

    private static int load(File jar) throws IOException {
        try (JarFile file = new JarFile(jar)) {
            return (int) file.stream().map(ZipEntry::getName).filter(ClassArchive::used).filter(ClassArchive::loads).count();
        }
    }

    private static boolean used(String entry) {
        return entry.endsWith(CLASS) && USED.stream().anyMatch(entry::startsWith) && !entry.contains(UNUSED);
    }

    private static boolean loads(String entry) {
        String name = entry.substring(0, entry.length() - CLASS.length()).replace('/', '.');
        try {
            Class.forName(name, false, ClassArchive.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false; // about a library that is not here
        }
    }
}
