# Both ends of the log where the build images can't be pulled: target/dist comes from the machine's own Maven.
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
COPY bin /usr/local/bin
COPY target/dist /opt/cdc-applier
RUN cdc-applier archive && test -s /opt/cdc-applier/classes.jsa
USER 10001
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/cdc-applier"]
