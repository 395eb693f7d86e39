import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { verifyMoney } from '#product/billing';
import { Chance } from '../../../test/system/chance';
import type { Findings } from '../../../test/system/findings';
import { gatewayFile, Testbed } from '../testbed';
import { none, tell } from '../none';
import { type Draft, draft, type Places } from './draft';
import { judge } from './judge';
import { pathOf, type Shape, shapes } from './shapes';
import { Wire } from './wire';

export interface FuzzOptions {
  readonly requests: number;
  readonly seed: number;
  /** Only this request, with everything that is known of it. */
  readonly only: number | null;
}

/** The same seed and number give the same request. */
const chanceOf = (seed: number, number: number): Chance =>
  new Chance(Math.imul(seed + 1, 0x85ebca6b) ^ Math.imul(number + 1, 0xc2b2ae35));

const AT_ONCE = 16;
const PROBE_EVERY_MS = 25;
const MOST_LAG_MS = 100;

/** Malformed requests, over every route below /v1: each is answered as the catalogue says. */
export async function proveFuzz(findings: Findings, options: FuzzOptions): Promise<void> {
  const testbed = await Testbed.open();
  let closed = false;
  try {
    const applied = await testbed.apply(gatewayFile(testbed.supplierUrl));
    if (applied.code !== 0) throw new Error(`gateway.yaml was not applied: ${applied.text}`);
    await testbed.waitForModel('guard');
    const served = await servedShapes(findings, testbed);
    const places = await placesOf(testbed);
    if (options.only !== null) return await showOne(testbed, places, served, options.seed, options.only);
    const run = new FuzzRun(testbed, places, served, options);
    await run.warmUp();
    await run.all();
    run.report(findings);
    closed = true;
    await testbed.close(async () => {
      const { checks } = await verifyMoney(await testbed.database());
      const wrong = checks.filter((check) => check.wrong.length > 0).map(({ name }) => name);
      none(findings, 'the books afterwards: equalities that do not hold', wrong, checks.length);
    });
  } finally {
    if (!closed) await testbed.close();
  }
}

/** Routes that are still to come are left out; a route of the contract without a shape here is a failure. */
async function servedShapes(findings: Findings, testbed: Testbed): Promise<Shape[]> {
  const served: Shape[] = [];
  for (const shape of shapes) if (await isServed(testbed, shape.method, pathOf(shape))) served.push(shape);
  const gone = shapes.filter((shape) => !served.includes(shape));
  const goneNames = gone.map((shape) => `${shape.method} ${pathOf(shape)}`);
  none(findings, 'requests of this proof that are not served', goneNames, shapes.length);
  const file = join(__dirname, '../../../../test/contract/operations.json');
  const { operations } = JSON.parse(readFileSync(file, 'utf8')) as {
    operations: { method: string; path: string }[];
  };
  const missing: string[] = [];
  const below = operations.filter(({ path }) => path.startsWith('/v1/'));
  for (const { method, path } of below) {
    const known = served.some((shape) => shape.method === method && pathOf(shape) === path);
    if (!known && (await isServed(testbed, method, path))) missing.push(`${method} ${path}`);
  }
  none(
    findings,
    `routes below /v1 of the contract that are not tried (${served.length} shapes are)`,
    missing,
    below.length,
  );
  return served;
}

async function isServed(testbed: Testbed, method: string, path: string): Promise<boolean> {
  const answer = await fetch(testbed.url + path.replaceAll(/\{\w+\}/g, 'x'), { method });
  const text = await answer.text();
  return (
    ![404, 405].includes(answer.status) ||
    !/"code":"(not_found|method_not_allowed)"/.test(text) ||
    /"param"/.test(text)
  );
}

async function placesOf(testbed: Testbed): Promise<Places> {
  const ask = async (path: string, key: string, body: object): Promise<Response> =>
    fetch(testbed.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const made = await ask('/v1/manage/keys', testbed.keys.root, { name: 'to be changed' });
  const { id } = (await made.json()) as { id: string };
  const answer = await ask('/v1/chat/completions', testbed.keys.demo, {
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
  private took = 0;

  constructor(
    private readonly testbed: Testbed,
    private readonly places: Places,
    private readonly served: readonly Shape[],
    private readonly options: FuzzOptions,
  ) {}

  /** The first requests pay for what is loaded and compiled once. */
  async warmUp(): Promise<void> {
    const wire = new Wire(this.port);
    for (let at = 0; at < 300; at += 1) await wire.send(this.draft(-1 - at));
    wire.close();
    // Reading the numbers begins them anew.
    await this.lag();
  }

  async all(): Promise<void> {
    const startedAt = performance.now();
    let next = 0;
    let done = false;
    const probing = this.probe(() => done);
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        const wire = new Wire(this.port);
        while (next < this.options.requests && !this.testbed.gateway.over) await this.one(wire, next++);
        wire.close();
      }),
    );
    done = true;
    await probing;
    this.took = performance.now() - startedAt;
    if (!this.testbed.gateway.over) this.lagMs = await this.lag();
  }

  report(findings: Findings): void {
    const { requests, seed } = this.options;
    const counted = [...this.labels].sort(([, a], [, b]) => b - a);
    tell(
      `${requests.toLocaleString('en')} requests in ${(this.took / 1_000).toFixed(0)} s, seed ${seed}: ` +
        `${counted.map(([label, count]) => `${label} ${count}`).join(', ')}`,
    );
    none(findings, 'requests that were answered in any way but the catalogue’s', this.wrong, requests);
    const { gateway, supplier } = this.testbed;
    for (const [name, program] of [
      ['the gateway', gateway],
      ['the pretend supplier', supplier],
    ] as const) {
      findings.add(`${name} still runs`, !program.over, program.over ? 'no' : 'yes');
      if (program.over) tell(program.text.slice(-600));
    }
    const lines = gateway.text.split('\n');
    const told = lines.filter((line) => /nobody was waiting|reached the top/.test(line));
    none(findings, 'lines of an exception that nobody caught', told, lines.length);
    const refused = lines.filter((line) => line.includes('was refused and set aside'));
    none(findings, 'lines of a record that the database would not take', refused, lines.length);
    findings.add(
      `lag of its event loop, p99 < ${MOST_LAG_MS} ms`,
      this.lagMs < MOST_LAG_MS,
      `${this.lagMs.toFixed(1)} ms`,
    );
    this.probes.sort((a, b) => a - b);
    const p99 = this.probes[Math.floor(this.probes.length * 0.99)] ?? Infinity;
    findings.add(`GET /health meanwhile, p99 < ${MOST_LAG_MS} ms`, p99 < MOST_LAG_MS, `${p99.toFixed(1)} ms`);
  }

  private get port(): number {
    return Number(new URL(this.testbed.url).port);
  }

  private draft(number: number): Draft {
    return draft(chanceOf(this.options.seed, number), this.places, this.served);
  }

  private async one(wire: Wire, number: number): Promise<void> {
    const request = this.draft(number);
    const { label, wrong } = judge(request, await wire.send(request));
    this.labels.set(label, (this.labels.get(label) ?? 0) + 1);
    if (wrong === null) return;
    const { method, path } = request.shape;
    this.wrong.push(
      `--seed=${this.options.seed} --only=${number} ${method} ${path} (${request.changes.join('; ')}): ${wrong}`,
    );
  }

  /** Another caller meanwhile. */
  private async probe(isOver: () => boolean): Promise<void> {
    const wire = new Wire(this.port);
    const bytes = Buffer.from('GET /health HTTP/1.1\r\nhost: x\r\n\r\n');
    while (!isOver() && !this.testbed.gateway.over) {
      const startedAt = performance.now();
      const { kind } = await wire.send({ method: 'GET', bytes, alone: false, broken: false });
      this.probes.push(kind === 'answer' ? performance.now() - startedAt : Infinity);
      await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS));
    }
    wire.close();
  }

  private async lag(): Promise<number> {
    const text = await (await fetch(this.testbed.metricsUrl)).text();
    return Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(text)?.[1]) * 1_000;
  }
}

async function showOne(
  testbed: Testbed,
  places: Places,
  served: readonly Shape[],
  seed: number,
  number: number,
): Promise<void> {
  const request = draft(chanceOf(seed, number), places, served);
  const wire = new Wire(Number(new URL(testbed.url).port));
  const outcome = await wire.send(request);
  wire.close();
  const verdict = judge(request, outcome);
  process.stdout.write(`${request.bytes.toString('latin1').slice(0, 4_000)}\n\n`);
  process.stdout.write(
    `${JSON.stringify({ changes: request.changes, field: request.field, outcome, verdict }, null, 2)}\n`,
  );
}
