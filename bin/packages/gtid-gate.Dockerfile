# gtid-gate from a binary that this machine has built (target/GATE_PROFILE): the same image where no registry is reachable.
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
ARG GATE_PROFILE=release
COPY target/${GATE_PROFILE}/gtid-gate /usr/local/bin/gtid-gate
# A fresh volume gets its owner from here; only the gate's state is the gate's to write.
RUN install -d -o 10001 -g 10001 /var/lib/gtid-gate
USER 10001:10001
EXPOSE 6034 6035 8080
ENTRYPOINT ["/usr/local/bin/gtid-gate"]
