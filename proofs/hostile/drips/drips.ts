import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Findings } from '../../../test/system/findings';
import { HostileTestbed } from '../testbed';
import { expectNone } from '../offenders';

const contract = join(__dirname, '..', '..', '..', '..', 'test', 'contract', 'operations.json');
const otherRoutes = [
  'GET /',
  'GET /health/ready',
  'HEAD /v1/models',
  'GET /no-such-page',
  'PUT /v1/no-such-route',
];

const ANNOUNCED_BYTES = 100_000;
const DRIP_MS = 1_000;
/** Below /v1 a body may take 30 s plus one second per MiB; a body that is not read gets 5 s. */
const MAX_OPEN_MS = 40_000;

interface SlowBody {
  readonly name: string;
  readonly socket: Socket;
  openMs: number | null;
}

/** Bodies sent at one byte per second to every route: no socket stays open indefinitely. */
export async function proveDrips(findings: Findings): Promise<void> {
  const testbed = await HostileTestbed.open();
  try {
    const { hostname, port, host } = new URL(testbed.url);
    const routes = [...operations(), ...otherRoutes];
    const drips = routes.flatMap((route) =>
      [`content-length: ${ANNOUNCED_BYTES}`, 'transfer-encoding: chunked'].map((framing) =>
        sendSlowly(route, framing, () => connect(Number(port), hostname), host, testbed.keys.demo),
      ),
    );
    const startedMs = performance.now();
    await Promise.race([
      Promise.all(drips.map(({ closed }) => closed)),
      new Promise((resolve) => setTimeout(resolve, MAX_OPEN_MS)),
    ]);
    const stillOpen = drips.filter(({ one }) => one.openMs === null);
    const longestMs = Math.max(...drips.map(({ one }) => one.openMs ?? performance.now() - startedMs));
    expectNone(
      findings,
      `sockets kept open by a dripping body, on ${routes.length} routes (longest ${(longestMs / 1_000).toFixed(1)} s)`,
      stillOpen.map(({ one }) => one.name),
      drips.length,
    );
    for (const { one } of drips) one.socket.destroy();
    const answer = await fetch(`${testbed.url}/health`);
    findings.add('the service answers afterwards', answer.status === 200, `${answer.status}`);
  } finally {
    await testbed.close();
  }
}

/** Every operation of the contract, as method and path. */
function operations(): string[] {
  const contractFile = JSON.parse(readFileSync(contract, 'utf8')) as {
    operations: { method: string; path: string }[];
  };
  return contractFile.operations.map(({ method, path }) => `${method} ${path.replaceAll(/\{[^}]+\}/g, '1')}`);
}

function sendSlowly(route: string, framing: string, open: () => Socket, host: string, key: string) {
  const startedMs = performance.now();
  const slowBody: SlowBody = { name: `${route} (${framing})`, socket: open(), openMs: null };
  const { socket } = slowBody;
  const byte = framing.startsWith('content-length') ? 'x' : '1\r\nx\r\n';
  const dripTimer = setInterval(() => socket.write(byte), DRIP_MS);
  const closed = new Promise<void>((resolve) => {
    socket.on('error', () => undefined).resume();
    socket.once('close', () => {
      clearInterval(dripTimer);
      slowBody.openMs = performance.now() - startedMs;
      resolve();
    });
  });
  socket.write(
    `${route} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n` +
      `sec-fetch-site: same-origin\r\n${framing}\r\n\r\n`,
  );
  return { one: slowBody, closed };
}
