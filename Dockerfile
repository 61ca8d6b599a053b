# svc in a container. Build: docker build -t svc . ; run it: docs/operations.md.
FROM node:20.20.2-bookworm AS build
WORKDIR /opt/svc
COPY . .
RUN npm ci && npm prune --omit=dev --ignore-scripts

FROM node:20.20.2-bookworm-slim
# git for agents, bubblewrap for the walls of isolated plugins and restricted agents, tini to reap what engines leave behind.
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap ca-certificates git tini \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/svc /opt/svc
RUN ln -s /opt/svc/cli/bin/svc.mjs /usr/local/bin/svc && mkdir /data && chown node:node /data
USER node
WORKDIR /data
VOLUME /data
EXPOSE 18800
HEALTHCHECK --start-period=30s CMD ["node", "-e", "fetch('http://127.0.0.1:18800/ready').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--"]
CMD ["node", "--max-semi-space-size=4", "/usr/local/bin/svc", "start"]
