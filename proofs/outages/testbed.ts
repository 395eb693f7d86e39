import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/system/free-port';
import { PostgresServer } from '../../test/system/postgres-server';
import { Books } from './books';
import { catalogueOf, NEIGHBOUR } from './catalogue';
import type { Endpoint } from './load';
import { type ProgramOptions, Program } from '../../test/system/program';
import { type Simulator, spawnSimulator } from '../../test/support/simulator';

const usd = 1_000_000_000n;
/** The service as built in this project. */
const BUNDLE = 'bundle';

export class GatewayProcess {
  constructor(
    readonly program: Program,
    readonly url: string,
    readonly metricsUrl: string,
    /** Environment it was started with. */
    readonly environment: Readonly<Record<string, string>>,
  ) {}

  get dataFolder(): string {
    return this.environment['DATA_FOLDER'] ?? '';
  }

  endpoint(key: string): Endpoint {
    return { url: this.url, key };
  }

  stop(): Promise<void> {
    return this.program.stop();
  }

  /** Returns the value of a gauge, named with its labels exactly as exported. */
  async gauge(name: string): Promise<number> {
    const text = await (await fetch(this.metricsUrl, { signal: AbortSignal.timeout(10_000) })).text();
    const line = text.split('\n').find((each) => each.startsWith(`${name} `));
    return Number(line?.slice(name.length) ?? NaN);
  }
}

export interface GatewayNodeOptions extends ProgramOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** Port to listen on; defaults to a free port. */
  readonly port?: number;
  /** Folder of the built service; defaults to the testbed's. */
  readonly bundle?: string | undefined;
  /** Uses the embedded database in its own data folder. */
  readonly isEmbedded?: boolean;
}

export interface NewKey {
  readonly publicId: string;
  readonly text: string;
}

/** A database, two suppliers, a customer who pays from a wallet, and gateway processes on demand. */
export class OutageTestbed {
  private readonly nodes: GatewayProcess[] = [];
  private root = '';
  private customer = '';
  private first: GatewayProcess | undefined;

  private constructor(
    readonly postgres: PostgresServer,
    readonly steady: Simulator,
    readonly slow: Simulator,
    readonly books: Books,
    /** Port to which the shared gateway sends email; no server listens on it. */
    readonly mailPort: number,
    private readonly bundle: string,
  ) {}

  /** A bundle of another version creates the database and the catalogue itself. */
  static async open(bundle = BUNDLE): Promise<OutageTestbed> {
    const [postgres, steady, slow] = await Promise.all([
      PostgresServer.start(),
      spawnSimulator(['--ring', '20000']),
      spawnSimulator(['--ring', '20000']),
    ]);
    const books = await Books.open(postgres.ownerUrl);
    const testbed = new OutageTestbed(postgres, steady, slow, books, await freePort(), bundle);
    try {
      await testbed.prepare();
      return testbed;
    } catch (error) {
      await testbed.close();
      throw error;
    }
  }

  /** Key of a customer whose wallet and limit are far from used up. */
  get key(): string {
    return this.customer;
  }

  /** Gateway for all drills without special requirements. */
  get shared(): GatewayProcess {
    if (this.first === undefined) throw new Error('the house is not furnished');
    return this.first;
  }

  /** Starts a gateway, or restarts it in the same data folder. */
  async startNode(name: string, options: GatewayNodeOptions = {}): Promise<GatewayProcess> {
    const { environment = {}, port, bundle = BUNDLE, isEmbedded = false, ...circumstances } = options;
    const dataFolder = join(this.postgres.folder, name);
    mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
    const metricsPort = await freePort();
    const all = {
      ...this.environment(dataFolder),
      ...(isEmbedded ? {} : this.database()),
      PORT: String(port ?? 0),
      METRICS_PORT: String(metricsPort),
      ...environment,
    };
    const program = Program.node(join(bundle, 'main.js'), [], all, circumstances);
    const [, url = ''] = await program.find(/ is ready at (http:\S+)/);
    const node = new GatewayProcess(program, url, `http://127.0.0.1:${metricsPort}/metrics`, all);
    this.nodes.push(node);
    return node;
  }

  /** Creates a key with the limits in the body, at a running node. */
  async createKey(node: GatewayProcess, body: object): Promise<NewKey> {
    const response = await fetch(`${node.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.root}`, 'content-type': 'application/json' },
      body: JSON.stringify({ budget_limit: 1_000, ...body }),
      signal: AbortSignal.timeout(10_000),
    });
    const created = (await response.json()) as { id: string; key: string };
    if (!response.ok) throw new Error(`no key was made: ${JSON.stringify(created)}`);
    return { publicId: created.id, text: created.key };
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
    await this.books.close().catch(() => undefined);
    await Promise.all([this.steady.stop(), this.slow.stop(), this.postgres.stop()]);
  }

  private database(): Record<string, string> {
    return { DATABASE_URL: this.postgres.url, MIGRATION_DATABASE_URL: this.postgres.ownerUrl };
  }

  private environment(dataFolder: string): Record<string, string> {
    return {
      NODE_ENV: 'test',
      LOG_LEVEL: 'warn',
      LOG_FORMAT: 'json',
      DATA_FOLDER: dataFolder,
      DATABASE_POOL_SIZE: '8',
      SANDBOX: 'off',
      // Jobs run only in the shared gateway.
      WORKERS: 'off',
      KEY_PEPPER: 'the same on every node',
      MASTER_KEY: 'the same on every node too',
      SESSION_SECRET: 'and this one',
      KEY_RATE_LIMIT_RPM: '1000000',
      KEY_FAILURES_PER_MINUTE: '1000000',
      SUPPLIER_ALLOW: '127.0.0.1',
      SUPPLIER_KEY: 'sim-outages',
    };
  }

  /** Prepares a newly started node: adds models and money to the initial keys. Returns the keys. */
  async prepareNode(node: GatewayProcess, books: Books): Promise<{ root: string; customer: string }> {
    const [, root = ''] = await node.program.find(/root admin key +(svc_\w+)/);
    const [, customer = ''] = await node.program.find(/demo key +(svc_\w+)/);
    await addMoney(books);
    const file = join(node.dataFolder, 'gateway.yaml');
    writeFileSync(file, catalogueOf({ steady: this.steady.url, slow: this.slow.url }));
    const apply = Program.node(join(this.bundle, 'cli.js'), ['apply', file, '--yes'], node.environment);
    if ((await apply.ended) !== 0) throw new Error(`the catalogue was refused: ${apply.text}`);
    await waitForModel(node.endpoint(customer), NEIGHBOUR);
    return { root, customer };
  }

  private async prepare(): Promise<void> {
    chmodSync(this.postgres.folder, 0o711);
    const environment = { SMTP_URL: `smtp://127.0.0.1:${this.mailPort}`, WORKERS: 'inline' };
    const first = await this.startNode('shared', { environment, bundle: this.bundle });
    this.first = first;
    ({ root: this.root, customer: this.customer } = await this.prepareNode(first, this.books));
  }
}

async function addMoney({ database }: Books): Promise<void> {
  await database.query('UPDATE user_account SET billing_exempt = false');
  await database.query("SELECT money_credit(id, $1, 'adjustment', 'topup', 'proof') FROM user_account", [
    1_000n * usd,
  ]);
  await database.query(
    "SELECT set_spending_limit('key', id, 'monthly', $1) FROM api_key WHERE kind = 'client'",
    [1_000n * usd],
  );
}

async function waitForModel({ url, key }: Endpoint, name: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < 10_000; waitedMs += 100) {
    const { status } = await fetch(`${url}/v1/models/${name}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    if (status === 200) return;
    await delay(100);
  }
  throw new Error(`the model ${name} did not appear`);
}
