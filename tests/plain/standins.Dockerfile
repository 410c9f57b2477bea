# Stand in for base images that cannot be pulled, from Debian packages: --target debian, rust or maven.
# The context is a folder with `trusted.pem`, the certificates that this machine trusts: a mirror of a registry may have one of its own.
ARG DEBIAN_BASE
ARG JAVA_BASE

FROM ${DEBIAN_BASE} AS debian
# A mirror can be older than its index's own expiry date.
RUN echo 'Acquire::Check-Valid-Until "false";' > /etc/apt/apt.conf.d/mirror

FROM debian AS rust
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates cargo \
 && rm -rf /var/lib/apt/lists/*
COPY trusted.pem /etc/ssl/certs/ca-certificates.crt

FROM ${JAVA_BASE} AS maven
RUN apt-get -o Acquire::Check-Valid-Until=false update \
 && apt-get install -y --no-install-recommends ca-certificates maven openjdk-21-jdk-headless \
 && rm -rf /var/lib/apt/lists/*
COPY trusted.pem /
RUN awk '/BEGIN CERT/ { file = "/usr/local/share/ca-certificates/" ++count ".crt" } { print > file }' /trusted.pem \
 && update-ca-certificates
