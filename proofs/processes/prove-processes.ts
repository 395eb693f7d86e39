import { setTimeout as delay } from 'node:timers/promises';
import { Findings, numberGiven, partsGiven, runProof } from '../../test/system/findings';
import { freePort } from '../../test/system/free-port';
import { type ProofGateway, startGateway } from '../../test/system/gateway';
import type { GatewayFile, ProofNode } from '../../test/system/node';
import { endWithThisProcess, type Program } from '../../test/system/program';
import { spawnRedis } from '../../test/system/redis-server';
import { spawnSimulator } from '../../test/support/simulator';
import { callUntil, newTally, type Tally, type Target } from './callers';
import { childrenOf, familyCpuUs, residentMb } from './family';
import { proveRoles } from './roles';

/** One node as one process, and one as two, on one database; then nodes of both roles behind one address. */

const CALLERS = 32;
/** Until the engine has compiled what a call runs through, a process costs several times as much. */
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

interface Stage {
  readonly gateway: ProofGateway;
  readonly one: ProofNode;
  readonly two: ProofNode;
  readonly metricsPort: number;
  readonly key: string;
}

const targetOf = ({ url }: ProofNode, { key }: Stage): Target => ({ url, key });

/** Calls for so long; what came of them. */
function callFor(target: Target, milliseconds: number, options = {}): Promise<Tally> {
  const end = performance.now() + milliseconds;
  return callUntil(target, CALLERS, () => performance.now() > end, options);
}

/** So many calls. */
async function callTimes(target: Target, calls: number): Promise<void> {
  const tally = newTally();
  await callUntil(target, CALLERS, () => tally.calls >= calls, { tally });
}

const metricsOf = async (port: number): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(10_000) })).text();

/** Answers of each process so far. */
async function answersByProcess(port: number): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const lines = (await metricsOf(port)).matchAll(/^gateway_requests_total\{.*process="(\d+)"\} (\d+)$/gm);
  for (const [, number = '', count] of lines) counts.set(number, (counts.get(number) ?? 0) + Number(count));
  return counts;
}

async function shares(stage: Stage, title: string, keepAlive: boolean): Promise<void> {
  const before = await answersByProcess(stage.metricsPort);
  await callFor(targetOf(stage.two, stage), 4_000, { keepAlive });
  // Answers are counted as they are settled.
  await delay(1_000);
  const after = await answersByProcess(stage.metricsPort);
  const counts = [...after].map(([number, count]) => count - (before.get(number) ?? 0));
  const all = counts.reduce((sum, count) => sum + count, 0);
  const parts = counts.map((count) => (count / all) * 100);
  const isFair = parts.length === 2 && parts.every((part) => part >= 45 && part <= 55);
  const seen = `${parts.map((part) => `${part.toFixed(1)} %`).join(' and ')} of ${all} calls`;
  findings.add(`${title}: each of two processes gets 45 to 55 %`, isFair, seen);
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

const IDLE_MS = 1_000;

/** CPU time of all processes of a node for one call, less what they do without any. */
async function cpuOfCall(node: ProofNode, stage: Stage, calls: number): Promise<number> {
  const spent = (): number => familyCpuUs(node.program.pid);
  const idleFrom = spent();
  await delay(IDLE_MS);
  const idle = (spent() - idleFrom) / IDLE_MS;
  const [before, began] = [spent(), performance.now()];
  await callTimes(targetOf(node, stage), calls);
  // The node has finished the settlements of the last calls.
  await delay(500);
  return (spent() - before - idle * (performance.now() - began)) / calls;
}

async function cpu(stage: Stage, rounds: number, calls: number): Promise<void> {
  for (const [node, processes] of [
    [stage.one, 1],
    [stage.two, 2],
  ] as const)
    await callTimes(targetOf(node, stage), processes * numberGiven('warm', WARM_UP_CALLS));
  const times: { one: number; two: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const time = { one: 0, two: 0 };
    // The second node finds the machine warm, so the order changes from round to round.
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

const SAID_DEADLINE_MS = 300_000;

/** On a busy machine a start takes longer than a proof usually waits for a word. */
async function said(program: Program, pattern: RegExp): Promise<void> {
  const end = performance.now() + SAID_DEADLINE_MS;
  while (!pattern.test(program.text)) {
    if (performance.now() > end) throw new Error(`it did not say ${pattern.source}`);
    await delay(100);
  }
}

/** Callers on kept and on new connections, while something happens to the node. */
async function underLoad(stage: Stage, happen: () => Promise<void>): Promise<{ kept: Tally; fresh: Tally }> {
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
  return { kept, fresh };
}

const told = ({ calls, broken, refused, unavailable, lost }: Tally): string =>
  `${calls} calls: ${broken} broken, ${refused} refused, ${unavailable} with 5xx, ${lost} lost after retries`;

async function recordsOf(stage: Stage, ids: readonly string[]): Promise<number> {
  const [row] = await stage.gateway.rows.query<{ count: string }>(
    'SELECT count(*) FROM request_record WHERE request_id = ANY($1::uuid[])',
    [ids],
  );
  return Number(row?.count);
}

async function kill(stage: Stage): Promise<void> {
  const { program } = stage.two;
  const { kept, fresh } = await underLoad(stage, async () => {
    process.kill(childrenOf(program.pid).at(-1) ?? 0, 'SIGKILL');
    await said(program, /a process serves again/);
  });
  findings.add('one process is killed: no new connection is refused', fresh.refused + kept.refused === 0);
  findings.add(
    'one process is killed: at most the calls under way in it break',
    kept.broken + fresh.broken <= CALLERS && kept.unavailable + fresh.unavailable === 0,
    `kept connections: ${told(kept)}\nnew connections: ${told(fresh)}`,
  );
  const lost = kept.lost + fresh.lost;
  findings.add(
    'one process is killed: callers that retry as SDKs do lose no call',
    lost === 0,
    `${lost} lost`,
  );
  await booked(stage, 'one process is killed', [...kept.answered, ...fresh.answered]);
}

async function replace(stage: Stage): Promise<void> {
  const before = childrenOf(stage.two.program.pid);
  const { kept, fresh } = await underLoad(stage, async () => {
    stage.two.program.signal('SIGHUP');
    await said(stage.two.program, /the processes were replaced/);
  });
  const after = childrenOf(stage.two.program.pid);
  findings.add(
    'SIGHUP replaces each process',
    after.length === 2 && !after.some((pid) => before.includes(pid)),
    `${before.join(', ')} became ${after.join(', ')}`,
  );
  for (const [title, tally] of Object.entries({ kept, fresh }))
    findings.over(
      `SIGHUP under load, ${title} connections: no call is refused or broken`,
      tally.calls,
      tally.broken + tally.refused + tally.unavailable + tally.lost,
      told(tally),
    );
  await booked(stage, 'SIGHUP under load', [...kept.answered, ...fresh.answered]);
}

/** Journals of the dead are read a few seconds later. */
async function booked(stage: Stage, title: string, ids: readonly string[]): Promise<void> {
  let count = 0;
  for (let waited = 0; waited < 60_000 && count < ids.length; waited += 1_000) {
    count = await recordsOf(stage, ids);
    if (count < ids.length) await delay(1_000);
  }
  findings.over(
    `${title}: every answer has its record`,
    ids.length,
    ids.length - count,
    `${count} of ${ids.length}`,
  );
}

async function main(): Promise<void> {
  endWithThisProcess();
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
        await shares(stage, 'new connections', false);
        await shares(stage, 'kept connections', true);
      },
      cpu: () => cpu(stage, numberGiven('rounds', 16), numberGiven('calls', 4_000)),
      kill: () => kill(stage),
      replace: () => replace(stage),
      roles: () => proveRoles(findings, gateway),
    };
    // Numbers belong to options.
    const named = process.argv.slice(2).filter((word) => /^[a-z]+$/.test(word));
    for (const part of partsGiven(Object.keys(parts), named)) await parts[part]?.();
    const wrong = await gateway.node.discrepancies();
    findings.add('money:verify holds', wrong === 0, `${wrong} discrepancies`);
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
