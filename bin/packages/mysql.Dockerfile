# Stands in for the official MySQL image where no registry is reachable: the server of Debian's packages.
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
# A mirror can be older than its index's own expiry date.
RUN useradd --system --home-dir /var/lib/mysql --shell /usr/sbin/nologin mysql \
 && apt-get -o Acquire::Check-Valid-Until=false update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends mysql-server-core mysql-client-core \
 && rm -rf /var/lib/apt/lists/*
