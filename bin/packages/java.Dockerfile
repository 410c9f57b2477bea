# Stands in for the official Java image where no registry is reachable: the runtime of Debian's packages.
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
# A mirror can be older than its index's own expiry date.
RUN apt-get -o Acquire::Check-Valid-Until=false update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends openjdk-21-jre-headless \
 && rm -rf /var/lib/apt/lists/*
