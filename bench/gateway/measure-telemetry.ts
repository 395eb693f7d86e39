import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Figure } from './figures';
import { smallPrompt } from './prompts';
import { cpuPer, interleaved, ratios, type Rounds, warm, withLoad } from './rounds';
import { wholeAnswer } from './scripts';
import { median, spreadOf } from './statistics';
import { answering } from './supplier';
import type { Target, Testbed } from './testbed';

const CONNECTIONS = 32;
const WARM_UP_MS = 8_000;

/**
 * CPU time a request with telemetry: switched off, with one trace in a hundred, and with all of them, with metrics as
 * often as usual. Each is beside the gateway without it; that is the one of `before`, where a folder of it is named.
 */
export async function measureTelemetry(
  testbed: Testbed,
  { count, milliseconds }: Rounds,
  before: string | null,
): Promise<Figure[]> {
  const receiver = await startReceiver();
  testbed.supplier.behaviour = answering(wholeAnswer);
  const sending = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_MAX_QUEUE_SIZE: '20000',
  };
  /** Each has a journal of its own. */
  const gateway = (settings: Readonly<Record<string, string>> = {}, folder?: string): Promise<Target> =>
    testbed.gateway([], { DATA_FOLDER: mkdtempSync(join(testbed.folder, 'traced-')), ...settings }, folder);
  const targets: Record<string, Target> = {
    ...(before !== null && { before: await gateway({}, before) }),
    off: await gateway(),
    'one in a hundred': await gateway({
      ...sending,
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
    }),
    all: await gateway(sending),
  };
  const names = Object.keys(targets);
  for (const name of names) await warm(targets[name]!, smallPrompt, WARM_UP_MS);
  const cost = await interleaved(names, count, (name) =>
    withLoad(targets[name]!, CONNECTIONS, smallPrompt, (load, request) =>
      cpuPer(targets[name]!.process, () => load.closed(request, milliseconds)),
    ),
  );
  receiver.server.closeAllConnections();
  receiver.server.close();
  const times = (name: string, beside: string, must: number): Figure => ({
    what: `telemetry, ${name}: CPU/request × ${beside === 'off' ? 'without it' : 'before there was any'}`,
    unit: '×',
    must,
    measured: spreadOf(ratios(cost[name]!, cost[beside]!)),
    rounds: ratios(cost[name]!, cost[beside]!),
    note: `${median(cost[name]!).toFixed(1)} µs beside ${median(cost[beside]!).toFixed(1)} µs; ${receiver.requests()} deliveries`,
  });
  return [
    ...(before === null ? [] : [times('off', 'before', 1.01)]),
    times('one in a hundred', 'off', 1.03),
    times('all', 'off', 1.15),
  ];
}

interface Receiver {
  readonly server: Server;
  readonly url: string;
  requests(): number;
}

/** It takes whatever comes, in the process of the callers. */
async function startReceiver(): Promise<Receiver> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    request.resume().on('end', () => response.end());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${port}`, requests: () => requests };
}
