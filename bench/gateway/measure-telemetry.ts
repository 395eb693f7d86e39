import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { GatewayFigure } from './figures';
import { smallPrompt } from './prompts';
import { cpuPer, interleaved, ratios, type Rounds, warm, withLoad } from './rounds';
import { completeResponse } from './scripts';
import { median, spreadOf } from './statistics';
import { respondWith } from './supplier';
import type { Target, Testbed } from './testbed';

const CONNECTIONS = 32;
const WARM_UP_MS = 8_000;

/**
 * CPU time per request with telemetry off, with 1 % of traces and with all traces, at the default metrics interval.
 * Compared with the gateway without telemetry: that of the `before` folder, if set.
 */
export async function measureTelemetry(
  testbed: Testbed,
  { count, milliseconds }: Rounds,
  before: string | null,
): Promise<GatewayFigure[]> {
  const receiver = await startReceiver();
  testbed.supplier.behaviour = respondWith(completeResponse);
  const telemetrySettings = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_MAX_QUEUE_SIZE: '20000',
  };
  /** Each gateway has its own journal. */
  const gateway = (settings: Readonly<Record<string, string>> = {}, folder?: string): Promise<Target> =>
    testbed.gateway([], { DATA_FOLDER: mkdtempSync(join(testbed.folder, 'traced-')), ...settings }, folder);
  const targets: Record<string, Target> = {
    ...(before !== null && { before: await gateway({}, before) }),
    off: await gateway(),
    'one in a hundred': await gateway({
      ...telemetrySettings,
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
    }),
    all: await gateway(telemetrySettings),
  };
  const names = Object.keys(targets);
  for (const name of names) await warm(targets[name]!, smallPrompt, WARM_UP_MS);
  const cost = await interleaved(names, count, (name) =>
    withLoad(targets[name]!, CONNECTIONS, smallPrompt, (load, request) =>
      cpuPer(targets[name]!.process, () => load.runClosedLoop(request, milliseconds)),
    ),
  );
  receiver.server.closeAllConnections();
  receiver.server.close();
  const ratioFigure = (name: string, baseline: string, must: number): GatewayFigure => ({
    what: `telemetry, ${name}: CPU/request × ${baseline === 'off' ? 'telemetry off' : 'a build without telemetry'}`,
    unit: '×',
    must,
    measured: spreadOf(ratios(cost[name]!, cost[baseline]!)),
    rounds: ratios(cost[name]!, cost[baseline]!),
    note: `${median(cost[name]!).toFixed(1)} µs beside ${median(cost[baseline]!).toFixed(1)} µs; ${receiver.requests()} deliveries`,
  });
  return [
    ...(before === null ? [] : [ratioFigure('off', 'before', 1.01)]),
    ratioFigure('one in a hundred', 'off', 1.03),
    ratioFigure('all', 'off', 1.15),
  ];
}

interface TelemetryReceiver {
  readonly server: Server;
  readonly url: string;
  requests(): number;
}

/** Accepts everything, in the process of the callers. */
async function startReceiver(): Promise<TelemetryReceiver> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    request.resume().on('end', () => response.end());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${port}`, requests: () => requests };
}
