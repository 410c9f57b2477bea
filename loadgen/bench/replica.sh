#!/usr/bin/env bash
# Starts the native replica that satellites are measured against, with a satellite's own settings and an empty data directory.
# Comes in: /etc/multimed/my.cnf of the satellite's image, BUFFER_POOL. Goes out: mysqld as process 1; /run/multimed/client.cnf.
# Must never differ from a satellite in a setting that costs or saves work, but for those that replication needs.
set -euo pipefail

mkdir -p /run/mysqld /run/multimed
chown mysql:mysql /var/lib/mysql /run/mysqld
# An account of its own, through the socket only: replication brings the master's root, and its password.
printf "CREATE USER 'bench_local'@'localhost';\nGRANT ALL ON *.* TO 'bench_local'@'localhost' WITH GRANT OPTION;\n" > /run/mysqld/account.sql
mysqld --defaults-file=/etc/multimed/my.cnf --initialize-insecure --init-file=/run/mysqld/account.sql
printf '[client]\nuser=bench_local\nsocket=/run/mysqld/mysqld.sock\n' > /run/multimed/client.cnf
exec mysqld --defaults-file=/etc/multimed/my.cnf --innodb-buffer-pool-size="$BUFFER_POOL" --offline-mode=OFF --max-connections=2000 \
  --server-id=900 --replica-parallel-workers=4 --replica-preserve-commit-order=ON --skip-replica-start
