import { setTimeout as delay } from 'node:timers/promises';
import { Findings, numberOption, partsFromArguments, runProof } from '../../test/system/findings';
import { freePort } from '../../test/system/free-port';
import { type ProofGateway, startGateway } from '../../test/system/gateway';
import type { GatewayFile, ProofNode } from '../../test/system/node';
import { stopProgramsOnInterrupt, type Program } from '../../test/system/program';
import { spawnRedis } from '../../test/system/redis-server';
import { spawnSimulator } from '../../test/support/simulator';
import { callUntil, newTally, type CallTally, type CallerTarget } from './callers';
import { childrenOf, processTreeCpuUs, residentMb } from './process-tree';
import { proveRoles } from './roles';

/**
 * Compares one node as a single process with one as two processes on the same database; then nodes of both roles behind
 * one address.
 */

const CALLERS = 32;
/** Until the engine has compiled the hot path, a process is several times slower. */
const WARM_UP_CALLS = 10_000;
const findings = new Findings('prove:processes');

const catalogue = (url: string): GatewayFile => ({
  providers: {
    simulated: { style: 'openai-style', base_url: `${url}/v1`, regions: ['eu'], api_key: '${SUPPLIER_KEY}' },
  },
  models: {
    proof: {
      lanes: [{ provider: 'simulated', model: 'sim-small', region: 'eu' }],
      price: { input: 1, output: 2 },
    },
  },
});

interface ProcessTestbed {
  readonly gateway: ProofGateway;
  readonly one: ProofNode;
  readonly two: ProofNode;
  readonly metricsPort: number;
  readonly key: string;
}

const targetOf = ({ url }: ProofNode, { key }: ProcessTestbed): CallerTarget => ({ url, key });

/** Calls for this long and returns the outcomes. */
function callFor(target: CallerTarget, milliseconds: number, options = {}): Promise<CallTally> {
  const end = performance.now() + milliseconds;
  return callUntil(target, CALLERS, () => performance.now() > end, options);
}

/** Makes this number of calls. */
async function callTimes(target: CallerTarget, calls: number): Promise<void> {
  const tally = newTally();
  await callUntil(target, CALLERS, () => tally.calls >= calls, { tally });
}

const metricsOf = async (port: number): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(10_000) })).text();

/** Number of responses per process so far. */
async function answersByProcess(port: number): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const lines = (await metricsOf(port)).matchAll(/^gateway_requests_total\{.*process="(\d+)"\} (\d+)$/gm);
  for (const [, number = '', count] of lines) counts.set(number, (counts.get(number) ?? 0) + Number(count));
  return counts;
}

async function proveShares(stage: ProcessTestbed, title: string, keepAlive: boolean): Promise<void> {
  const before = await answersByProcess(stage.metricsPort);
  await callFor(targetOf(stage.two, stage), 4_000, { keepAlive });
  // Responses are counted when they are settled.
  await delay(1_000);
  const after = await answersByProcess(stage.metricsPort);
  const counts = [...after].map(([number, count]) => count - (before.get(number) ?? 0));
  const total = counts.reduce((sum, count) => sum + count, 0);
  const parts = counts.map((count) => (count / total) * 100);
  const isFair = parts.length === 2 && parts.every((part) => part >= 45 && part <= 55);
  const summary = `${parts.map((part) => `${part.toFixed(1)} %`).join(' and ')} of ${total} calls`;
  findings.add(`${title}: each of two processes gets 45 to 55 %`, isFair, summary);
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

const IDLE_MS = 1_000;

/** CPU time of all processes of a node per call, less the idle consumption. */
async function cpuOfCall(node: ProofNode, stage: ProcessTestbed, calls: number): Promise<number> {
  const cpuTime = (): number => processTreeCpuUs(node.program.pid);
  const idleFrom = cpuTime();
  await delay(IDLE_MS);
  const idle = (cpuTime() - idleFrom) / IDLE_MS;
  const [before, began] = [cpuTime(), performance.now()];
  await callTimes(targetOf(node, stage), calls);
  // The node settles the last calls.
  await delay(500);
  return (cpuTime() - before - idle * (performance.now() - began)) / calls;
}

async function proveCpu(stage: ProcessTestbed, rounds: number, calls: number): Promise<void> {
  for (const [node, processes] of [
    [stage.one, 1],
    [stage.two, 2],
  ] as const)
    await callTimes(targetOf(node, stage), processes * numberOption('warm', WARM_UP_CALLS));
  const times: { one: number; two: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const time = { one: 0, two: 0 };
    // The second node finds a warm machine, so the order alternates.
    const order = round % 2 === 0 ? (['one', 'two'] as const) : (['two', 'one'] as const);
    for (const node of order) time[node] = await cpuOfCall(stage[node], stage, calls);
    times.push(time);
  }
  const ratio = median(times.map(({ one, two }) => two / one));
  const noise = median(times.slice(1).map(({ one }, round) => one / times[round]!.one));
  findings.add(
    'CPU of a call, two processes × one: at most 1.05',
    ratio <= 1.05,
    `${ratio.toFixed(3)} (${median(times.map(({ two }) => two)).toFixed(0)} µs and ${median(times.map(({ one }) => one)).toFixed(0)} µs; one × itself ${noise.toFixed(3)})`,
  );
  const [supervisor, ...processes] = [stage.two.program.pid, ...childrenOf(stage.two.program.pid)];
  const sizes = processes.map((pid) => residentMb(pid).toFixed(0)).join(' and ');
  process.stdout.write(
    `memory after load: ${sizes} MB, and ${residentMb(supervisor ?? 0).toFixed(0)} MB for the supervisor\n`,
  );
}

const OUTPUT_DEADLINE_MS = 300_000;

/** On a busy machine a start takes longer than the usual output deadline. */
async function waitForOutput(program: Program, pattern: RegExp): Promise<void> {
  const end = performance.now() + OUTPUT_DEADLINE_MS;
  while (!pattern.test(program.text)) {
    if (performance.now() > end) throw new Error(`it did not say ${pattern.source}`);
    await delay(100);
  }
}

/** Clients on kept-alive and on new connections while an event happens to the node. */
async function underLoad(
  stage: ProcessTestbed,
  happen: () => Promise<void>,
): Promise<{ keptAlive: CallTally; fresh: CallTally }> {
  let isOver = false;
  const target = targetOf(stage.two, stage);
  const calls = [true, false].map((keepAlive) =>
    callUntil(target, CALLERS / 2, () => isOver, { tally: newTally(), keepAlive }),
  );
  await delay(2_000);
  await happen();
  await delay(2_000);
  isOver = true;
  const [kept = newTally(), fresh = newTally()] = await Promise.all(calls);
  return { keptAlive: kept, fresh };
}

const summaryOf = ({
  calls,
  brokenCount: broken,
  refusedCount: refused,
  unavailable,
  lostCount: lost,
}: CallTally): string =>
  `${calls} calls: ${broken} broken, ${refused} refused, ${unavailable} with 5xx, ${lost} lost after retries`;

async function recordsOf(stage: ProcessTestbed, ids: readonly string[]): Promise<number> {
  const [row] = await stage.gateway.rows.query<{ count: string }>(
    'SELECT count(*) FROM request_record WHERE request_id = ANY($1::uuid[])',
    [ids],
  );
  return Number(row?.count);
}

async function proveKill(stage: ProcessTestbed): Promise<void> {
  const { program } = stage.two;
  const { keptAlive: kept, fresh } = await underLoad(stage, async () => {
    process.kill(childrenOf(program.pid).at(-1) ?? 0, 'SIGKILL');
    await waitForOutput(program, /a process serves again/);
  });
  findings.add(
    'one process is killed: no new connection is refused',
    fresh.refusedCount + kept.refusedCount === 0,
  );
  findings.add(
    'one process is killed: at most the calls under way in it break',
    kept.brokenCount + fresh.brokenCount <= CALLERS && kept.unavailable + fresh.unavailable === 0,
    `kept connections: ${summaryOf(kept)}\nnew connections: ${summaryOf(fresh)}`,
  );
  const lostCalls = kept.lostCount + fresh.lostCount;
  findings.add(
    'one process is killed: callers that retry as SDKs do lose no call',
    lostCalls === 0,
    `${lostCalls} lost`,
  );
  await proveRecorded(stage, 'one process is killed', [...kept.answeredIds, ...fresh.answeredIds]);
}

async function proveReplacement(stage: ProcessTestbed): Promise<void> {
  const before = childrenOf(stage.two.program.pid);
  const { keptAlive: kept, fresh } = await underLoad(stage, async () => {
    stage.two.program.signal('SIGHUP');
    await waitForOutput(stage.two.program, /the processes were replaced/);
  });
  const after = childrenOf(stage.two.program.pid);
  findings.add(
    'SIGHUP replaces each process',
    after.length === 2 && !after.some((pid) => before.includes(pid)),
    `${before.join(', ')} became ${after.join(', ')}`,
  );
  for (const [title, tally] of Object.entries({ kept, fresh }))
    findings.expectNoneWrong(
      `SIGHUP under load, ${title} connections: no call is refused or broken`,
      tally.calls,
      tally.brokenCount + tally.refusedCount + tally.unavailable + tally.lostCount,
      summaryOf(tally),
    );
  await proveRecorded(stage, 'SIGHUP under load', [...kept.answeredIds, ...fresh.answeredIds]);
}

/** Journals of dead processes are read a few seconds later. */
async function proveRecorded(stage: ProcessTestbed, title: string, ids: readonly string[]): Promise<void> {
  let count = 0;
  for (let waited = 0; waited < 60_000 && count < ids.length; waited += 1_000) {
    count = await recordsOf(stage, ids);
    if (count < ids.length) await delay(1_000);
  }
  findings.expectNoneWrong(
    `${title}: every answer has its record`,
    ids.length,
    ids.length - count,
    `${count} of ${ids.length}`,
  );
}

async function main(): Promise<void> {
  stopProgramsOnInterrupt();
  const supplier = await spawnSimulator();
  const redis = await spawnRedis();
  const metricsPort = await freePort();
  const shared = { REDIS_URL: redis.url, KEY_PEPPER: 'the same on all nodes', MASTER_KEY, LOG_LEVEL: 'info' };
  const gateway = await startGateway(shared);
  try {
    await gateway.node.apply(catalogue(supplier.url));
    const two = await gateway.another('two', { PROCESSES: '2', METRICS_PORT: String(metricsPort) });
    await two.program.find(/ is ready at \S+ \(2 processes/);
    const stage = { gateway, one: gateway.node, two, metricsPort, key: gateway.node.keys.demo };
    const parts: Readonly<Record<string, () => Promise<void>>> = {
      shares: async () => {
        await proveShares(stage, 'new connections', false);
        await proveShares(stage, 'kept connections', true);
      },
      cpu: () => proveCpu(stage, numberOption('rounds', 16), numberOption('calls', 4_000)),
      kill: () => proveKill(stage),
      replace: () => proveReplacement(stage),
      roles: () => proveRoles(findings, gateway),
    };
    // Numbers belong to options.
    const selectedProofs = process.argv.slice(2).filter((word) => /^[a-z]+$/.test(word));
    for (const part of partsFromArguments(Object.keys(parts), selectedProofs)) await parts[part]?.();
    const discrepancies = await gateway.node.discrepancies();
    findings.add('money:verify holds', discrepancies === 0, `${discrepancies} discrepancies`);
    await two.stop();
    findings.add('the node of two processes ends in order', (await two.program.ended) === 0);
  } finally {
    await gateway.stop();
    redis.program.kill();
    await supplier.stop();
  }
  findings.end();
}

const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');

runProof(main);
