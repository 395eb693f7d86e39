import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Simulator, spawnSimulator } from '../../test/support/simulator';
import { freePort } from '../../test/system/free-port';
import { ProofNode } from '../../test/system/node';
import { projectFolder } from '../../test/system/program';

export const FAULTY = join(projectFolder, 'proofs/extensions/faulty.cjs');

/** What a request came to. */
export interface Came {
  readonly status: number;
  readonly text: string;
  readonly cost: string | null;
}

/** The service with the faulty extension, the database that comes with it, and a supplier. */
export class Testbed {
  readonly folder = mkdtempSync(join(tmpdir(), 'switchboard-extensions-'));
  /** Plain requests that were answered and paid for. */
  served = 0;

  private constructor(
    private readonly supplier: Simulator,
    private readonly metricsPort: number,
  ) {}

  private running: ProofNode | undefined;

  static async open(): Promise<Testbed> {
    const testbed = new Testbed(await spawnSimulator(), await freePort());
    try {
      const metrics = { METRICS_PORT: String(testbed.metricsPort), LOG_LEVEL: 'warn', SETTLE_ACK: 'commit' };
      testbed.running = await ProofNode.start(join(testbed.folder, 'data'), {
        EXTENSIONS: FAULTY,
        ...metrics,
      });
      await testbed.furnish();
      return testbed;
    } catch (error) {
      await testbed.close();
      throw error;
    }
  }

  get node(): ProofNode {
    if (this.running === undefined) throw new Error('the service has not been started');
    return this.running;
  }

  async chat(tags: readonly string[], stream = false): Promise<Came> {
    const answer = await fetch(`${this.node.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.node.keys.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'model',
        stream,
        messages: [{ role: 'user', content: 'Hello' }],
        metadata: { tags },
      }),
      signal: AbortSignal.timeout(20_000),
    });
    const text = await answer.text();
    return { status: answer.status, text, cost: answer.headers.get('x-svc-cost-usd') };
  }

  /** What keeps it from serving; null where it is well, and a request is answered and paid for. */
  async illness(): Promise<string | null> {
    const health = await fetch(`${this.node.url}/health/ready`, { signal: AbortSignal.timeout(20_000) });
    await health.text();
    if (health.status !== 200) return `its health is ${health.status}`;
    const { status, text, cost } = await this.chat([]);
    if (status !== 200 || cost === null) return `a plain request came to ${status}: ${text.slice(0, 300)}`;
    this.served += 1;
    return null;
  }

  /** How often a gate failed or was late, as the metrics have it. */
  async failuresOf(gate: string): Promise<number> {
    const url = `http://127.0.0.1:${this.metricsPort}/metrics`;
    const text = await (await fetch(url, { signal: AbortSignal.timeout(20_000) })).text();
    return text
      .split('\n')
      .filter((line) => line.includes(`gate="${gate}"`) && /verdict="(?:failed|late)"/.test(line))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  /** The owner's session, by the link of the first start. */
  async ownerCookie(): Promise<string> {
    const [, token = ''] = /sign-in-link\?token=(\S+)/.exec(this.node.program.text) ?? [];
    const { url } = this.node;
    const answer = await fetch(`${url}/sign-in-link`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: url, accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token }).toString(),
    });
    const [cookie] = answer.headers.getSetCookie();
    if (cookie === undefined) throw new Error(`the owner could not sign in: ${answer.status}`);
    return cookie.split(';')[0] ?? '';
  }

  async close(): Promise<void> {
    await this.running?.stop();
    await this.supplier.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async furnish(): Promise<void> {
    const lane = { provider: 'simulator', model: 'sim-small', region: 'local' };
    await this.node.apply({
      providers: {
        simulator: {
          style: 'openai-style',
          base_url: `${this.supplier.url}/v1`,
          regions: ['local'],
          api_key: '${SUPPLIER_KEY}',
          settings: { profile: 'openai' },
        },
      },
      models: {
        model: {
          context_tokens: 200_000,
          max_output_tokens: 8_000,
          price: { input: 1, output: 2 },
          lanes: [lane],
        },
      },
    });
  }
}
