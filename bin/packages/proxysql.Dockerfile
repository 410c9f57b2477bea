# The front door where ProxySQL's image cannot be pulled but a binary is at hand: stage-proxysql has put it into target/.
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
COPY target/ /usr/local/lib/proxysql/
# Its libraries are for it alone; the image's own programs keep theirs.
RUN printf '#!/bin/sh\nLD_LIBRARY_PATH=/usr/local/lib/proxysql/lib exec /usr/local/lib/proxysql/proxysql "$@"\n' > /usr/local/bin/proxysql \
 && chmod 0755 /usr/local/bin/proxysql && proxysql --version
COPY entrypoint.sh lib.sh admin.sh add-user.sh renew-passwords.sh health.sh proxysql.cnf.template /usr/local/lib/multimed/
RUN ln -sf /usr/local/lib/multimed/add-user.sh /usr/local/bin/add-user \
 && ln -sf /usr/local/lib/multimed/renew-passwords.sh /usr/local/bin/renew-passwords
EXPOSE 6033
ENTRYPOINT ["/usr/local/lib/multimed/entrypoint.sh"]
CMD []
