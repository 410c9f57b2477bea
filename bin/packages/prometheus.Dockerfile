# Stands in for the official Prometheus image where no registry is reachable: Debian's package.
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
# A mirror can be older than its index's own expiry date.
RUN apt-get -o Acquire::Check-Valid-Until=false update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends prometheus \
 && rm -rf /var/lib/apt/lists/* /etc/prometheus \
 && mkdir -p /prometheus /etc/prometheus && chown nobody /prometheus
# As in the official image.
USER nobody
EXPOSE 9090
ENTRYPOINT ["/usr/bin/prometheus"]
CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
