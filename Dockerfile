# syntax=docker/dockerfile:1
# The digest of the image index: it holds for every platform. A newer Node is a new digest in both lines.
FROM node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY scripts ./scripts
RUN npm ci --include=dev --ignore-scripts
COPY . .
# docker build --build-arg BUILD_COMMIT=$(git rev-parse HEAD) . : what gateway_build_info shows.
ARG BUILD_COMMIT
RUN npm run build && rm -rf dist/entries dist/product && npm prune --omit=dev --ignore-scripts

FROM node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 METRICS_HOST=0.0.0.0 DATA_FOLDER=/data FIRST_KEYS=file
WORKDIR /app
RUN install -d -o node -g node -m 0700 /data
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/bin ./bin
COPY --from=build /app/dist ./dist
COPY --from=build /app/views ./views
COPY --from=build /app/public ./public
COPY --from=build /app/locales ./locales
COPY --from=build /app/migrations/sql ./migrations/sql
COPY --from=build /app/docs ./docs
USER node
VOLUME /data
EXPOSE 3000 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:'+process.env.PORT+'/health/live').then((r)=>process.exit(r.ok?0:1),()=>process.exit(1))"]
CMD ["node", "--max-semi-space-size=16", "--heap-growing-percent=60", "--initial-heap-size=128", "dist/bundle/main.js"]
