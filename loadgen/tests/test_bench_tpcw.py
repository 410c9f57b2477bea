"""What bench-tpcw plans, and tells Compose. No server needed."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tpcw_bench import BENCH, GIB, GOOD, HERE, APART, LATE, NATIVE, ONE, SINGLE, TWO, defaults_of_the_script, good  # noqa: E402
import process  # noqa: E402
from tpcw import machine, memory, override, plan, settings  # noqa: E402


class Settings(unittest.TestCase):
    def test_good_ones(self):
        found = good()
        self.assertEqual((found.contenders, found.mixes), (("single", "replicas", "multimed"), ("browsing", "shopping")))
        self.assertEqual((found.clients, found.satellites, found.most_satellites, found.carts), ((8, 32, 1000), (1, 2), 2, 1000))
        self.assertEqual(found.sizes.satellite_memory, 5 * GIB // 2)

    def test_all_mistakes_at_once(self):
        with self.assertRaises(ValueError) as caught:
            good(
                BENCH_CONTENDERS="router",
                BENCH_MIXES="",
                BENCH_CLIENTS="0",
                BENCH_SATELLITES="",
                BENCH_ITEMS="5",
                BENCH_SATELLITE_DATA="tape",
                BENCH_MASTER_OPTIONS="innodb-x",
                BENCH_CPUS="0-",
                BENCH_PORTS="1",
                MASTER_MEMORY="much",
                BENCH_PROTOCOL="binary",
            )
        text = str(caught.exception)
        for name in (
            "CONTENDERS",
            "MIXES",
            "CLIENTS",
            "SATELLITES",
            "ITEMS",
            "SATELLITE_DATA",
            "MASTER_OPTIONS",
            "CPUS",
            "PORTS",
            "PROTOCOL",
        ):
            self.assertRegex(text, rf"(?m)^BENCH_{name}")
        self.assertIn("MASTER_MEMORY=much", text)

    def test_durability_is_not_for_sale(self):
        for option in ("--sync-binlog=0", "--loose-innodb_flush_log_at_trx_commit=2", "--skip-log-bin"):
            with self.assertRaisesRegex(ValueError, "durable"):
                good(BENCH_MASTER_OPTIONS=option)

    def test_cores_of_load_and_servers_come_together(self):
        self.assertEqual(good(BENCH_CPUS="0-3,6", BENCH_LOAD_CPUS="7").load_cpus, "7")
        for bad in ("3-0", "0-99999", "48", "0-7"):
            with self.assertRaisesRegex(ValueError, "BENCH_CPUS"):
                good(BENCH_CPUS=bad, BENCH_LOAD_CPUS="7")
        with self.assertRaisesRegex(ValueError, "both, or none"):
            good(BENCH_LOAD_CPUS="7")

    def test_the_process_ends_with_64_and_names_each(self):
        done = subprocess.run(
            [sys.executable, "-B", "-m", "tpcw", "check"],
            capture_output=True,
            text=True,
            env={**os.environ, **GOOD, "BENCH_EBS": "x", "BENCH_SECONDS": "0", "PYTHONPATH": str(BENCH)},
        )
        self.assertEqual(done.returncode, 64)
        self.assertRegex(done.stderr, r"(?s)bench: BENCH_SECONDS=0.*bench: BENCH_EBS=x")

    def test_nothing_to_say_about_the_scripts_own(self):
        for cores, satellites in ((1, (1, 2)), (2, (1, 2)), (16, (1, 2, 3)), (48, (1, 2, 4, 8, 11))):
            self.assertEqual(settings.read(defaults_of_the_script(cores), range(cores)).satellites, satellites)


class Plan(unittest.TestCase):
    def test_one_mysql_first_and_as_many_replicas_as_the_most_satellites(self):
        self.assertEqual([each.name for each in plan.contenders(good())], ["single", "replicas-2", "multimed-1", "multimed-2", "apart-2"])

    def test_clients_are_swept_with_the_most_satellites_only(self):
        self.assertEqual([cell.clients for cell in plan.cells(good(), ONE)], [32, 32])
        self.assertEqual(
            [(cell.mix, cell.clients) for cell in plan.cells(good(), TWO)],
            [("browsing", 32), ("shopping", 32), ("browsing", 8), ("browsing", 1000), ("shopping", 8), ("shopping", 1000)],
        )
        for contender in (SINGLE, NATIVE, TWO):
            self.assertEqual(len(plan.cells(good(), contender)), 2 * 3)

    def test_every_contender_has_the_head_of_every_mix(self):
        for contender in plan.contenders(good()):
            wanted = set() if contender == APART else {"browsing", "shopping"}
            self.assertEqual({cell.mix for cell in plan.cells(good(), contender) if cell.clients == 32}, wanted)

    def test_late_satellites_have_one_load_twice(self):
        self.assertEqual(plan.contenders(good(BENCH_CONTENDERS="lagging single", BENCH_PARTS="")), [SINGLE, LATE])
        self.assertEqual(plan.cells(good(), LATE), 2 * [plan.Cell("shopping", 32)])

    def test_warming_up_writes_and_can_be_left_out(self):
        self.assertEqual(plan.warm_up(good(), TWO), plan.Cell("shopping", 32))
        self.assertIsNone(plan.warm_up(good(BENCH_WARM_UP_SECONDS="0"), TWO))

    def test_the_defaults_end_in_twenty_two_minutes(self):
        """On two cores, where a run takes about a fifth less than the estimate."""
        self.assertLess(plan.estimate(settings.read(defaults_of_the_script(2), range(2))), 1600)


class Memory(unittest.TestCase):
    def test_sizes(self):
        self.assertEqual([memory.bytes_of(text) for text in ("512m", "2G", "4096")], [512 << 20, 2 * GIB, 4096])
        for text in ("", "m", "2t", "-1g", "1.5g", "²"):
            with self.assertRaises(ValueError):
                memory.bytes_of(text)

    def test_few_satellites_have_the_memory_of_many(self):
        sizes = good().sizes
        for count in (1, 2, 4):
            self.assertEqual(memory.satellite(sizes, count, 4).limit * count, 4 * sizes.satellite_memory)
        one, four = memory.satellite(sizes, 1, 4), memory.satellite(sizes, 4, 4)
        self.assertEqual(four.buffer_pool, sizes.satellite_buffer_pool)
        self.assertEqual(one.limit - one.buffer_pool, four.limit - four.buffer_pool)

    def test_one_mysql_has_all_of_it_but_not_more_than_there_is(self):
        sizes = good().sizes
        self.assertEqual(memory.single(sizes, 2, 64 * GIB).limit, 15 * GIB + GIB // 2)
        self.assertEqual(memory.single(sizes, 2, 8 * GIB).limit, 7 * GIB)


class Override(unittest.TestCase):
    def test_services(self):
        self.assertEqual(override.services(SINGLE), ["master"])
        self.assertEqual(override.services(NATIVE), ["master", "gate", "satellite-1", "satellite-2"])
        self.assertEqual(override.services(ONE), ["master", "gate", "satellite-1", "kafka", "capture", "applier-1"])
        self.assertEqual(override.servers(TWO), ["master", "satellite-1", "satellite-2"])

    def test_late_satellites_are_late_by_their_appliers_alone(self):
        self.assertEqual(override.services(LATE), override.services(TWO))
        text = override.text(LATE, good(), HERE)
        self.assertEqual((text.count('APPLIER_TEST_DELAY_MS: "20"'), text.count("GATE_TABLE_STREAM")), (2, 0))
        self.assertIn("  gate:\n    environment: {GATE_MASTER_READS: fallback}\n", text)
        self.assertIn('{GATE_MASTER_READS: fallback, GATE_TABLE_STREAM: ""}\n', override.text(LATE, good(), HERE, table_stream=False))
        self.assertNotIn("APPLIER_TEST", override.text(TWO, good(), HERE))

    def test_one_mysql_has_all_cores_and_its_own_options(self):
        text = override.text(SINGLE, good(), HERE)
        self.assertIn('command: ["--max-connections=2000", "--table-open-cache=9", "--innodb-io-capacity=2000", "--loose-x=ON"]', text)
        self.assertIn('cpuset: "0-3"', text)
        self.assertNotIn("satellite-1", text)

    def test_a_master_among_others_keeps_its_layout(self):
        text = override.text(TWO, good(), HERE)
        self.assertNotIn("cpuset", text)
        self.assertNotIn("loose", text)
        self.assertIn(f'  satellite-2:\n    command: ["--max-connections=2000"]\n    mem_limit: {5 * GIB // 2}\n', text)

    def test_satellites_on_disk_have_no_tmpfs_for_their_data(self):
        self.assertNotIn("tmpfs", override.text(TWO, good(), HERE))
        text = override.text(TWO, good(BENCH_SATELLITE_DATA="disk"), HERE)
        self.assertEqual(text.count('tmpfs: !override ["/run:mode=0755"]\n    volumes: [/var/lib/mysql]\n'), 2)


class Prepare(unittest.TestCase):
    def test_all_mistakes_at_once_before_anything_is_touched(self):
        with tempfile.TemporaryDirectory() as folder:
            docker = pathlib.Path(folder, "docker")
            docker.write_text('#!/bin/sh\n[ "$2" = ps ] || echo touched\nexit 1\n')
            docker.chmod(0o755)
            done = subprocess.run(
                [BENCH.parent / "prepare-tpcw"],
                capture_output=True,
                text=True,
                env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TPCW_ITEMS": "5", "TPCW_EBS": "0", "TPCW_THREADS": "two"},
            )
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertRegex(done.stderr, "(?s)TPCW_ITEMS=5.*TPCW_EBS=0.*TPCW_THREADS=two.*the stack is not up")


class Machine(unittest.TestCase):
    def test_cores_of_this_process_are_counted_back(self):
        self.assertEqual(process.cores_in(machine.cores()), os.sched_getaffinity(0))
        self.assertLessEqual(os.sched_getaffinity(0), machine.online())

    def test_the_busiest_of_this_process_and_its_children_lives(self):
        with subprocess.Popen(["sleep", "9"]) as child:
            self.assertIn(child.pid, process.tree(os.getpid()))
            self.assertEqual(process.busiest(os.getpid()), os.getpid())
            child.kill()

    def test_facts_name_no_host_and_nothing_is_empty(self):
        found = machine.facts(good())
        self.assertNotIn(os.uname().nodename, " ".join(found.values()))
        self.assertTrue(all(found.values()))


if __name__ == "__main__":
    unittest.main()
