import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { EMBEDDED_EVENTS } from '../metrics/embedded-events';
import { mergeMetrics } from './merge-metrics';

const REQUEST_DEADLINE_MS = 10_000;
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface MachineNumbers {
  readonly serving: number;
  readonly restarts: number;
  /** Each with the label `process`; those that did not answer in time are left out. */
  readonly texts: readonly string[];
}

/** Serves /metrics for all processes of the node. What they share, the supervisor tells. */
export async function serveMetrics(
  host: string,
  port: number,
  read: () => Promise<MachineNumbers>,
  embeddedEvents: Readonly<Record<string, number>> | null,
): Promise<Server> {
  const server = createServer({ requestTimeout: REQUEST_DEADLINE_MS }, (request, response) => {
    const path = request.url?.split('?', 1)[0];
    if (path !== '/metrics' || (request.method !== 'GET' && request.method !== 'HEAD')) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('not found\n');
      return;
    }
    void read().then((numbers) =>
      response
        .writeHead(200, { 'content-type': CONTENT_TYPE })
        .end(mergeMetrics([ownNumbers(numbers), eventsText(embeddedEvents), ...numbers.texts])),
    );
  });
  await once(server.listen({ host, port }), 'listening');
  return server.unref();
}

const ownNumbers = ({ serving, restarts, texts }: MachineNumbers): string =>
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
