# What deals a machine's cores to a stack that `make layout` has not laid out: see `shares`. The context is this directory.
ARG DEBIAN_IMAGE
FROM ${DEBIAN_IMAGE}
# busybox-static: a taskset that runs in every image of the stack. MySQL's and Kafka's have none.
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends busybox-static python3 \
 && rm -rf /var/lib/apt/lists/*
COPY dealing.py declared.py multimed.schema.json shares on-share /usr/local/lib/multimed/
ENTRYPOINT ["/usr/local/lib/multimed/shares", "/cores"]
