import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { collectDefaultMetrics } from 'prom-client';
import { errorCode, Settings, SettingsError } from '../config';
import { Metrics } from './metrics';
import { readDisks, readProcess } from './process-gauges';

/** Serves /metrics on a port of its own, so that the public one never does. */
@Injectable()
export class MetricsServer implements OnApplicationShutdown {
  private server?: Server;
  /** Their volumes are watched. */
  private readonly folders: Map<string, string>;

  constructor(
    private readonly settings: Settings,
    private readonly metrics: Metrics,
  ) {
    const { dataFolder } = settings;
    this.folders = new Map([
      ['data', dataFolder],
      ['journal', join(dataFolder, 'journal')],
    ]);
  }

  /** Before the start: a folder that may be on a volume of its own. */
  watchFolder(name: string, path: string): void {
    this.folders.set(name, path);
  }

  /** Starts listening and answers the port, or 0 when switched off. A taken port is a fault of configuration. */
  async start(): Promise<number> {
    const { metricsHost: host, metricsPort: port } = this.settings;
    return port === 0 ? 0 : this.listen(host, port);
  }

  /** The supervisor of this process serves its numbers beside those of others. */
  speakFor(process: number): void {
    this.metrics.registry.setDefaultLabels({ process });
    this.readOwn();
  }

  text(): Promise<string> {
    return this.metrics.text();
  }

  async listen(host: string, port: number): Promise<number> {
    this.readOwn();
    const server = createServer(
      { requestTimeout: 10_000 },
      (request, response) => void this.answer(request, response),
    );
    try {
      await once(server.listen({ host, port }), 'listening');
    } catch (error) {
      const taken = errorCode(error) === 'EADDRINUSE';
      const problem = taken
        ? `port ${port} of ${host} is taken; choose another, or 0 for none`
        : `cannot listen on port ${port} of ${host} (${errorCode(error)})`;
      throw new SettingsError([{ name: 'METRICS_PORT', problem }]);
    }
    this.server = server.unref();
    return (server.address() as AddressInfo).port;
  }

  async onApplicationShutdown(): Promise<void> {
    const { server } = this;
    if (!server?.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  /** What the process itself and its disks have to say. */
  private readOwn(): void {
    const { metrics, folders } = this;
    collectDefaultMetrics({ register: metrics.registry });
    metrics.beforeRead(() => {
      readProcess(metrics);
      return readDisks(metrics, folders);
    });
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split('?', 1)[0];
    if (path !== '/metrics' || (request.method !== 'GET' && request.method !== 'HEAD')) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('not found\n');
      return;
    }
    try {
      const body = await this.metrics.text();
      response.writeHead(200, { 'content-type': this.metrics.registry.contentType }).end(body);
    } catch {
      response.writeHead(500, { 'content-type': 'text/plain' }).end('metrics could not be collected\n');
    }
  }
}
