import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { EMBEDDED_EVENTS } from '../metrics/embedded-events';
import { mergeMetrics } from './merge-metrics';

const REQUEST_DEADLINE_MS = 10_000;
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface MachineMetrics {
  readonly serving: number;
  readonly restarts: number;
  /** Each has the label `process`; processes that did not respond in time are omitted. */
  readonly texts: readonly string[];
}

/** Serves /metrics for all processes of the node. The supervisor reports what they share. */
export async function serveMetrics(
  host: string,
  port: number,
  read: () => Promise<MachineMetrics>,
  embeddedEvents: Readonly<Record<string, number>> | null,
): Promise<Server> {
  const server = createServer({ requestTimeout: REQUEST_DEADLINE_MS }, (request, response) => {
    const path = request.url?.split('?', 1)[0];
    if (path !== '/metrics' || (request.method !== 'GET' && request.method !== 'HEAD')) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('not found\n');
      return;
    }
    void read().then((metrics) =>
      response
        .writeHead(200, { 'content-type': CONTENT_TYPE })
        .end(mergeMetrics([supervisorMetrics(metrics), eventsText(embeddedEvents), ...metrics.texts])),
    );
  });
  await once(server.listen({ host, port }), 'listening');
  return server.unref();
}

const supervisorMetrics = ({ serving, restarts, texts }: MachineMetrics): string =>
  [
    '# HELP gateway_processes Processes of this node that serve.',
    '# TYPE gateway_processes gauge',
    `gateway_processes ${serving}`,
    '# HELP gateway_processes_silent Of these, those that gave no numbers in time.',
    '# TYPE gateway_processes_silent gauge',
    `gateway_processes_silent ${serving - texts.length}`,
    '# HELP gateway_process_restarts_total Processes that ended unasked and were started again.',
    '# TYPE gateway_process_restarts_total counter',
    `gateway_process_restarts_total ${restarts}`,
  ].join('\n');

const eventsText = (events: Readonly<Record<string, number>> | null): string =>
  events === null
    ? ''
    : [
        `# HELP ${EMBEDDED_EVENTS.name} ${EMBEDDED_EVENTS.help}`,
        `# TYPE ${EMBEDDED_EVENTS.name} counter`,
        ...Object.entries(events).map(
          ([event, count]) => `${EMBEDDED_EVENTS.name}{event="${event}"} ${count}`,
        ),
      ].join('\n');
