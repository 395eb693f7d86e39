import { createRequire } from 'node:module';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Simulator, spawnSimulator } from '../../test/support/simulator';
import { freePort } from '../../test/system/free-port';
import { type GatewayFile, ProofNode } from '../../test/system/node';
import { projectFolder } from '../../test/system/program';

const extension = (name: string): string => join(projectFolder, 'proofs/extensions', name);
export const FAULTY = extension('faulty.cjs');
export const PARTS = extension('faulty-parts.cjs');
export const STYLES = extension('faulty-styles.cjs');
export const PAGES = extension('faulty-pages');

/** The simulator reports overload for this key. */
export const BUSY_KEY = 'sim-busy';
export const LANE = { provider: 'simulator', model: 'sim-small', region: 'local' };
export const modelOf = (...lanes: readonly object[]): object => ({
  context_tokens: 200_000,
  max_output_tokens: 8_000,
  price: { input: 1, output: 2 },
  lanes,
});

/** Outcome of a request. */
export interface RequestOutcome {
  readonly status: number;
  readonly text: string;
  readonly cost: string | null;
}

/** The service with faulty extensions, the embedded database and a supplier. */
export class ExtensionTestbed {
  readonly folder = mkdtempSync(join(tmpdir(), 'switchboard-extensions-'));
  /** Number of plain requests that were answered and charged. */
  servedCount = 0;
  /** Ids of all charged requests. */
  readonly settledIds: string[] = [];

  private constructor(
    readonly supplier: Simulator,
    private readonly metricsPort: number,
  ) {}

  private running: ProofNode | undefined;
  private demoKey = '';

  static async open(extensions: readonly string[]): Promise<ExtensionTestbed> {
    const testbed = new ExtensionTestbed(await spawnSimulator(), await freePort());
    try {
      const metrics = { METRICS_PORT: String(testbed.metricsPort), LOG_LEVEL: 'warn', SETTLE_ACK: 'commit' };
      const environment = { EXTENSIONS: extensions.join(','), EXT_PARTS_FOLDER: testbed.folder, BUSY_KEY };
      await testbed.start({ ...environment, ...metrics });
      testbed.demoKey = testbed.node.keys.demo;
      await testbed.applyCatalogue();
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

  /** Restarts the installation with other extensions. */
  async restart(extensions: readonly string[]): Promise<void> {
    const { environment } = this.node;
    await this.node.stop();
    await this.start({ ...environment, EXTENSIONS: extensions.join(',') });
  }

  async chat(tags: readonly string[], stream = false, model = 'model'): Promise<RequestOutcome> {
    const answer = await fetch(`${this.node.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.demoKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        stream,
        messages: [{ role: 'user', content: 'Hello' }],
        metadata: { tags },
      }),
      signal: AbortSignal.timeout(20_000),
    });
    const text = await answer.text();
    const cost = answer.headers.get('x-svc-cost-usd');
    if (answer.ok && !stream) this.settledIds.push(answer.headers.get('x-request-id') ?? '');
    return { status: answer.status, text, cost };
  }

  /** Returns the reason why the service does not serve; null if it is healthy and a request is answered and charged. */
  async findProblem(): Promise<string | null> {
    const health = await fetch(`${this.node.url}/health/ready`, { signal: AbortSignal.timeout(20_000) });
    await health.text();
    if (health.status !== 200) return `its health is ${health.status}`;
    const { status, text, cost } = await this.chat([]);
    if (status !== 200 || cost === null) return `a plain request came to ${status}: ${text.slice(0, 300)}`;
    this.servedCount += 1;
    return null;
  }

  /** Number of failures and timeouts of a gate according to the metrics. */
  async failuresOf(gate: string): Promise<number> {
    const url = `http://127.0.0.1:${this.metricsPort}/metrics`;
    const text = await (await fetch(url, { signal: AbortSignal.timeout(20_000) })).text();
    return text
      .split('\n')
      .filter((line) => line.includes(`gate="${gate}"`) && /verdict="(?:failed|late)"/.test(line))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  /** Cookie of the owner's session, opened with the link of the first start. */
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

  /** Applies the catalogue: a working model and the given ones; waits for the last one. */
  async applyCatalogue(more: GatewayFile = { providers: {}, models: {} }): Promise<void> {
    await this.node.apply({
      providers: { ...more.providers, simulator: this.provider('openai-style') },
      models: { model: modelOf(LANE), ...more.models },
    });
  }

  private async start(environment: Readonly<Record<string, string>>): Promise<void> {
    this.running = await ProofNode.start(join(this.folder, 'data'), environment, { isKept: true });
  }

  /** A provider that reaches the simulator in this style. */
  provider(style: string, key = '${SUPPLIER_KEY}'): object {
    const settings = style === 'openai-style' ? { settings: { profile: 'openai' } } : {};
    return { style, base_url: `${this.supplier.url}/v1`, regions: ['local'], api_key: key, ...settings };
  }
}

/** The values that a proof extension exports next to its definition. */
export const exportsOf = (file: string): unknown => createRequire(__filename)(file);
