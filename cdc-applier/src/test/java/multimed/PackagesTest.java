package multimed;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.tngtech.archunit.ArchConfiguration;
import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The packages stand in one order, so that there can be no circle between them. */
class PackagesTest {
    /** Each uses only packages before it. {@code log.proto} is generated from log.proto. */
    private static final List<String> ORDER = List.of(
            "multimed.process", "multimed.gtid", "multimed.live", "multimed.log.proto", "multimed.log", "multimed.master",
            "multimed.binlog",
            "multimed.sqltext",
            "multimed.capture.comparison", "multimed.capture.debezium", "multimed.capture.tables", "multimed.capture", "multimed.mysql",
            "multimed.apply.sql",
            "multimed.apply", "multimed.verify", "multimed.engine",
            "multimed");

    private static final JavaClasses CLASSES = read();

    private static JavaClasses read() {
        // Else all of Kafka's and Debezium's classes would be read as well.
        ArchConfiguration.get().setResolveMissingDependenciesFromClassPath(false);
        return new ClassFileImporter().withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS).importPackages("multimed");
    }

    @Test
    void aPackageUsesOnlyThoseBeforeIt() {
        List<String> against = CLASSES.stream().flatMap(PackagesTest::usesLater).distinct().sorted().toList();
        assertEquals(List.of(), against);
    }

    private static Stream<String> usesLater(JavaClass user) {
        int place = ORDER.indexOf(user.getPackageName());
        return user.getDirectDependenciesFromSelf().stream()
                .filter(each -> ORDER.indexOf(each.getTargetClass().getPackageName()) > place)
                .map(Dependency::getDescription);
    }

    @Test
    void everyPackageHasItsPlaceInTheOrder() {
        var found = new TreeSet<String>();
        CLASSES.forEach(each -> found.add(each.getPackageName()));
        assertEquals(new TreeSet<>(ORDER), found);
    }
}
