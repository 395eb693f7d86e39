import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { verifyMoney } from '#product/billing';
import { SeededRandom } from '../../../test/system/seeded-random';
import type { Findings } from '../../../test/system/findings';
import { gatewayFile, HostileTestbed } from '../testbed';
import { expectNone, print } from '../offenders';
import { type Draft, createDraft, type ShapeIds } from './draft';
import { judge } from './judge';
import { pathOf, type RequestShape, shapes } from './shapes';
import { Wire } from './wire';

export interface FuzzOptions {
  readonly requests: number;
  readonly seed: number;
  /** Runs only this request and prints all details. */
  readonly only: number | null;
}

/** The seed and number of a request determine it completely. */
const chanceOf = (seed: number, number: number): SeededRandom =>
  new SeededRandom(Math.imul(seed + 1, 0x85ebca6b) ^ Math.imul(number + 1, 0xc2b2ae35));

const CONCURRENCY = 16;
const PROBE_INTERVAL_MS = 25;
const MAX_LAG_MS = 100;

/** Malformed requests to every route below /v1: each response conforms to the error catalogue. */
export async function proveFuzz(findings: Findings, options: FuzzOptions): Promise<void> {
  const testbed = await HostileTestbed.open();
  let isClosed = false;
  try {
    const applied = await testbed.apply(gatewayFile(testbed.supplierUrl));
    if (applied.code !== 0) throw new Error(`gateway.yaml was not applied: ${applied.text}`);
    await testbed.waitForModel('guard');
    const availableShapes = await servedShapes(findings, testbed);
    const shapeIds = await createShapeIds(testbed);
    if (options.only !== null)
      return await showOne(testbed, shapeIds, availableShapes, options.seed, options.only);
    const run = new FuzzRun(testbed, shapeIds, availableShapes, options);
    await run.warmUp();
    await run.all();
    run.report(findings);
    isClosed = true;
    await testbed.close(async () => {
      const { checks } = await verifyMoney(await testbed.database());
      const wrong = checks.filter((check) => check.wrong.length > 0).map(({ name }) => name);
      expectNone(findings, 'the books afterwards: equalities that do not hold', wrong, checks.length);
    });
  } finally {
    if (!isClosed) await testbed.close();
  }
}

/** Shapes whose route is served. An unserved shape and a contract route without a shape are failures. */
async function servedShapes(findings: Findings, testbed: HostileTestbed): Promise<RequestShape[]> {
  const found: RequestShape[] = [];
  for (const shape of shapes) if (await isServed(testbed, shape.method, pathOf(shape))) found.push(shape);
  const missingShapes = shapes.filter((shape) => !found.includes(shape));
  const missingNames = missingShapes.map((shape) => `${shape.method} ${pathOf(shape)}`);
  expectNone(findings, 'requests of this proof that are not served', missingNames, shapes.length);
  const file = join(__dirname, '../../../../test/contract/operations.json');
  const { operations } = JSON.parse(readFileSync(file, 'utf8')) as {
    operations: { method: string; path: string }[];
  };
  const missing: string[] = [];
  const apiOperations = operations.filter(({ path }) => path.startsWith('/v1/'));
  for (const { method, path } of apiOperations) {
    const isKnown = found.some((shape) => shape.method === method && pathOf(shape) === path);
    if (!isKnown && (await isServed(testbed, method, path))) missing.push(`${method} ${path}`);
  }
  expectNone(
    findings,
    `routes below /v1 of the contract that are not tried (${found.length} shapes are)`,
    missing,
    apiOperations.length,
  );
  return found;
}

async function isServed(testbed: HostileTestbed, method: string, path: string): Promise<boolean> {
  const answer = await fetch(testbed.url + path.replaceAll(/\{\w+\}/g, 'x'), { method });
  const text = await answer.text();
  return (
    ![404, 405].includes(answer.status) ||
    !/"code":"(not_found|method_not_allowed)"/.test(text) ||
    /"param"/.test(text)
  );
}

async function createShapeIds(testbed: HostileTestbed): Promise<ShapeIds> {
  const post = async (path: string, key: string, body: object): Promise<Response> =>
    fetch(testbed.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const createdKey = await post('/v1/manage/keys', testbed.keys.root, { name: 'to be changed' });
  const { id } = (await createdKey.json()) as { id: string };
  const answer = await post('/v1/chat/completions', testbed.keys.demo, {
    model: 'small',
    messages: [{ role: 'user', content: 'Hello' }],
  });
  if (!answer.ok) throw new Error(`a plain request failed: ${answer.status} ${await answer.text()}`);
  return { ...testbed.keys, keyId: id, requestId: answer.headers.get('x-request-id') ?? '' };
}

class FuzzRun {
  private readonly labels = new Map<string, number>();
  private readonly wrong: string[] = [];
  private readonly probes: number[] = [];
  private lagMs = Number.NaN;
  private durationMs = 0;

  constructor(
    private readonly testbed: HostileTestbed,
    private readonly shapeIds: ShapeIds,
    private readonly served: readonly RequestShape[],
    private readonly options: FuzzOptions,
  ) {}

  /** The first requests include one-time loading and compilation. */
  async warmUp(): Promise<void> {
    const wire = new Wire(this.port);
    for (let at = 0; at < 300; at += 1) await wire.send(this.draftOf(-1 - at));
    wire.close();
    // Reading the lag resets it.
    await this.lag();
  }

  async all(): Promise<void> {
    const startedAt = performance.now();
    let next = 0;
    let isDone = false;
    const probing = this.probe(() => isDone);
    await Promise.all(
      Array.from({ length: CONCURRENCY }, async () => {
        const wire = new Wire(this.port);
        while (next < this.options.requests && !this.testbed.gateway.over) await this.runOne(wire, next++);
        wire.close();
      }),
    );
    isDone = true;
    await probing;
    this.durationMs = performance.now() - startedAt;
    if (!this.testbed.gateway.over) this.lagMs = await this.lag();
  }

  report(findings: Findings): void {
    const { requests, seed } = this.options;
    const counted = [...this.labels].sort(([, a], [, b]) => b - a);
    print(
      `${requests.toLocaleString('en')} requests in ${(this.durationMs / 1_000).toFixed(0)} s, seed ${seed}: ` +
        `${counted.map(([label, count]) => `${label} ${count}`).join(', ')}`,
    );
    expectNone(findings, 'requests that were answered in any way but the catalogue’s', this.wrong, requests);
    const { gateway, supplier } = this.testbed;
    for (const [name, program] of [
      ['the gateway', gateway],
      ['the pretend supplier', supplier],
    ] as const) {
      findings.add(`${name} still runs`, !program.over, program.over ? 'no' : 'yes');
      if (program.over) print(program.text.slice(-600));
    }
    const lines = gateway.text.split('\n');
    const unexpectedLogLines = lines.filter((line) => /nobody was waiting|reached the top/.test(line));
    expectNone(findings, 'lines of an exception that nobody caught', unexpectedLogLines, lines.length);
    const rejectedRecords = lines.filter((line) => line.includes('was refused and set aside'));
    expectNone(findings, 'lines of a record that the database would not take', rejectedRecords, lines.length);
    findings.add(
      `lag of its event loop, p99 < ${MAX_LAG_MS} ms`,
      this.lagMs < MAX_LAG_MS,
      `${this.lagMs.toFixed(1)} ms`,
    );
    this.probes.sort((a, b) => a - b);
    const p99 = this.probes[Math.floor(this.probes.length * 0.99)] ?? Infinity;
    findings.add(`GET /health meanwhile, p99 < ${MAX_LAG_MS} ms`, p99 < MAX_LAG_MS, `${p99.toFixed(1)} ms`);
  }

  private get port(): number {
    return Number(new URL(this.testbed.url).port);
  }

  private draftOf(number: number): Draft {
    return createDraft(chanceOf(this.options.seed, number), this.shapeIds, this.served);
  }

  private async runOne(wire: Wire, number: number): Promise<void> {
    const request = this.draftOf(number);
    const { label, wrong } = judge(request, await wire.send(request));
    this.labels.set(label, (this.labels.get(label) ?? 0) + 1);
    if (wrong === null) return;
    const { method, path } = request.shape;
    this.wrong.push(
      `--seed=${this.options.seed} --only=${number} ${method} ${path} (${request.changes.join('; ')}): ${wrong}`,
    );
  }

  /** Measures latency for another caller in the background. */
  private async probe(isOver: () => boolean): Promise<void> {
    const wire = new Wire(this.port);
    const bytes = Buffer.from('GET /health HTTP/1.1\r\nhost: x\r\n\r\n');
    while (!isOver() && !this.testbed.gateway.over) {
      const startedAt = performance.now();
      const { kind } = await wire.send({ method: 'GET', bytes, isAlone: false, isIncomplete: false });
      this.probes.push(kind === 'answer' ? performance.now() - startedAt : Infinity);
      await new Promise((resolve) => setTimeout(resolve, PROBE_INTERVAL_MS));
    }
    wire.close();
  }

  private async lag(): Promise<number> {
    const text = await (await fetch(this.testbed.metricsUrl)).text();
    return Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(text)?.[1]) * 1_000;
  }
}

async function showOne(
  testbed: HostileTestbed,
  shapeIds: ShapeIds,
  served: readonly RequestShape[],
  seed: number,
  number: number,
): Promise<void> {
  const request = createDraft(chanceOf(seed, number), shapeIds, served);
  const wire = new Wire(Number(new URL(testbed.url).port));
  const outcome = await wire.send(request);
  wire.close();
  const verdict = judge(request, outcome);
  process.stdout.write(`${request.bytes.toString('latin1').slice(0, 4_000)}\n\n`);
  process.stdout.write(
    `${JSON.stringify({ changes: request.changes, field: request.field, outcome, verdict }, null, 2)}\n`,
  );
}
