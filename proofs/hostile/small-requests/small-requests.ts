import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SeededRandom } from '../../../test/system/seeded-random';
import type { Findings } from '../../../test/system/findings';
import { Wire } from '../fuzz/wire';
import { mainThreadMs } from '../main-thread';
import { expectNone, print } from '../offenders';
import { HostileTestbed } from '../testbed';
import { drawOddRequest, type OddRequest } from './odd-request';

const REQUEST_COUNT = 10_000;
const WARM_UP_COUNT = 300;
const MAX_CPU_MS = 50;
/** Garbage collection and compilation affect any request; an expensive request is expensive each time. */
const ATTEMPTS = 4;

/** Paths named in findings; tried with every seed. */
const knownPaths: readonly string[] = ['/'.repeat(15_000), '/v1'.repeat(5_000), `/v1/${'a/'.repeat(7_000)}`];

interface RequestCpuTime {
  readonly name: string;
  readonly cpuMs: number;
}

/**
 * "`prove:hostile` times 10,000 small odd requests (paths, queries, headers) and fails above 50 ms each": CPU time of
 * the node's main thread for each request, all of them without a key.
 */
export async function proveSmallRequests(
  findings: Findings,
  { seed }: { readonly seed: number },
): Promise<void> {
  const testbed = await HostileTestbed.open({
    environment: { LOG_LEVEL: 'info', PUBLIC_REQUESTS_PER_MINUTE: '1000000' },
  });
  try {
    const paths = servedPaths();
    const draw = (number: number): OddRequest =>
      drawOddRequest(
        new SeededRandom(Math.imul(seed + 1, 0x85ebca6b) ^ Math.imul(number + 1, 0xc2b2ae35)),
        paths,
      );
    for (let number = 1; number <= WARM_UP_COUNT; number += 1) await measure(testbed, draw(-number));
    const known = knownPaths.map((path) => ({
      name: `GET ${path.slice(0, 10)}… of ${path.length} characters`,
      method: 'GET',
      bytes: Buffer.from(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`),
    }));
    const costs: RequestCpuTime[] = [];
    for (const request of known) costs.push(await measure(testbed, request));
    for (let number = 0; number < REQUEST_COUNT; number += 1)
      costs.push(await measure(testbed, draw(number)));
    costs.sort((a, b) => b.cpuMs - a.cpuMs);
    const label = ({ name, cpuMs }: RequestCpuTime): string => `${cpuMs.toFixed(1)} ms: ${name}`;
    const expensive = costs.filter(({ cpuMs }) => cpuMs > MAX_CPU_MS).map(label);
    expectNone(
      findings,
      `small requests without a key that cost more than ${MAX_CPU_MS} ms`,
      expensive,
      costs.length,
    );
    print(`seed ${seed}; the most expensive:`);
    for (const cost of costs.slice(0, 5)) print(label(cost));
  } finally {
    await testbed.close();
  }
}

/** Repeats a request only while it costs too much, and returns the lowest cost. */
async function measure(testbed: HostileTestbed, request: OddRequest): Promise<RequestCpuTime> {
  const port = Number(new URL(testbed.url).port);
  let cpuMs = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS && cpuMs > MAX_CPU_MS; attempt += 1) {
    const before = mainThreadMs(testbed.gateway.pid);
    const wire = new Wire(port);
    await wire.send({ ...request, isAlone: true, isIncomplete: false });
    wire.close();
    cpuMs = Math.min(cpuMs, mainThreadMs(testbed.gateway.pid) - before);
  }
  return { name: request.name, cpuMs };
}

/** Paths of the contract, and some that are not served. */
function servedPaths(): string[] {
  const file = join(__dirname, '../../../../test/contract/operations.json');
  const { operations } = JSON.parse(readFileSync(file, 'utf8')) as { operations: { path: string }[] };
  const paths = operations.map(({ path }) => path.replaceAll(/\{[^}]+\}/g, '1'));
  return [
    ...new Set([
      ...paths,
      '/v1/key',
      '/v1/none',
      '/none',
      '/dev/outbox',
      '/static/none.css',
      '/openapi.json',
    ]),
  ];
}
