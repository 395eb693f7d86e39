import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { collectDefaultMetrics } from 'prom-client';
import { errorCode, Settings, SettingsError } from '../config';
import { Metrics } from './metrics';
import { updateDiskGauges, updateProcessGauges } from './process-gauges';

/** Serves /metrics on a port of its own, so that the public one never does. */
@Injectable()
export class MetricsServer implements OnApplicationShutdown {
  private server?: Server;
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

  /** Adds a folder that might be on a volume of its own; must be called before the start. */
  watchFolder(name: string, path: string): void {
    this.folders.set(name, path);
  }

  /** Starts listening and returns the port, or 0 if switched off. A port in use is a configuration error. */
  async start(): Promise<number> {
    const { metricsHost: host, metricsPort: port } = this.settings;
    return port === 0 ? 0 : this.listen(host, port);
  }

  /** Labels the metrics with the process number, for a supervisor that serves those of all processes. */
  reportAs(process: number): void {
    this.metrics.registry.setDefaultLabels({ process });
    this.collectOwnMetrics();
  }

  text(): Promise<string> {
    return this.metrics.text();
  }

  async listen(host: string, port: number): Promise<number> {
    this.collectOwnMetrics();
    const server = createServer(
      { requestTimeout: 10_000 },
      (request, response) => void this.respond(request, response),
    );
    try {
      await once(server.listen({ host, port }), 'listening');
    } catch (error) {
      const isTaken = errorCode(error) === 'EADDRINUSE';
      const problem = isTaken
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

  private collectOwnMetrics(): void {
    const { metrics, folders } = this;
    collectDefaultMetrics({ register: metrics.registry });
    metrics.beforeRead(() => {
      updateProcessGauges(metrics);
      return updateDiskGauges(metrics, folders);
    });
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
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
