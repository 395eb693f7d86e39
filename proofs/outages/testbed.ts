import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/system/free-port';
import { PostgresServer } from '../../test/system/postgres-server';
import { Books } from './books';
import { catalogueOf, NEIGHBOUR } from './catalogue';
import type { Endpoint } from './load';
import { type Circumstances, Program } from '../../test/system/program';
import { type Simulator, spawnSimulator } from '../../test/support/simulator';

const usd = 1_000_000_000n;
/** The service as it was built here. */
const BUNDLE = 'bundle';

/** A gateway process. */
export class GatewayNode {
  constructor(
    readonly program: Program,
    readonly url: string,
    readonly metricsUrl: string,
    /** With which it was started. */
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

  /** The value of a gauge, named with its labels as they are written. */
  async gauge(name: string): Promise<number> {
    const text = await (await fetch(this.metricsUrl, { signal: AbortSignal.timeout(10_000) })).text();
    const line = text.split('\n').find((each) => each.startsWith(`${name} `));
    return Number(line?.slice(name.length) ?? NaN);
  }
}

export interface NodeOptions extends Circumstances {
  readonly environment?: Readonly<Record<string, string>>;
  /** It listens here; else at a port of its own. */
  readonly port?: number;
  /** The folder of the built service, where it is not the testbed's. */
  readonly bundle?: string | undefined;
  /** It has the database that comes with it, in its own data folder. */
  readonly isEmbedded?: boolean;
}

export interface NewKey {
  readonly publicId: string;
  readonly text: string;
}

/** A database, two suppliers, a customer who pays from a wallet, and gateway processes as they are needed. */
export class Testbed {
  private readonly nodes: GatewayNode[] = [];
  private root = '';
  private customer = '';
  private first: GatewayNode | undefined;

  private constructor(
    readonly postgres: PostgresServer,
    readonly steady: Simulator,
    readonly slow: Simulator,
    readonly books: Books,
    /** The shared gateway sends its mails here, where no server listens. */
    readonly mailPort: number,
    private readonly bundle: string,
  ) {}

  /** With another version's bundle, that one makes the database and the catalogue. */
  static async open(bundle = BUNDLE): Promise<Testbed> {
    const [postgres, steady, slow] = await Promise.all([
      PostgresServer.start(),
      spawnSimulator(['--ring', '20000']),
      spawnSimulator(['--ring', '20000']),
    ]);
    const books = await Books.open(postgres.ownerUrl);
    const testbed = new Testbed(postgres, steady, slow, books, await freePort(), bundle);
    try {
      await testbed.prepare();
      return testbed;
    } catch (error) {
      await testbed.close();
      throw error;
    }
  }

  /** The key of a customer whose wallet and whose limit are far from spent. */
  get key(): string {
    return this.customer;
  }

  /** A gateway for all who need nothing special of it. */
  get shared(): GatewayNode {
    if (this.first === undefined) throw new Error('the house is not furnished');
    return this.first;
  }

  /** Starts a gateway, or starts it again in the same data folder. */
  async node(name: string, options: NodeOptions = {}): Promise<GatewayNode> {
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
    const node = new GatewayNode(program, url, `http://127.0.0.1:${metricsPort}/metrics`, all);
    this.nodes.push(node);
    return node;
  }

  /** A key that is limited as the body says, made at a running node. */
  async makeKey(node: GatewayNode, body: object): Promise<NewKey> {
    const response = await fetch(`${node.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.root}`, 'content-type': 'application/json' },
      body: JSON.stringify({ budget_limit: 1_000, ...body }),
      signal: AbortSignal.timeout(10_000),
    });
    const made = (await response.json()) as { id: string; key: string };
    if (!response.ok) throw new Error(`no key was made: ${JSON.stringify(made)}`);
    return { publicId: made.id, text: made.key };
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
      // Jobs are the shared gateway's.
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

  /** Prepares a freshly started node: the first keys exist; models and money are added. Returns the keys. */
  async prepareNode(node: GatewayNode, books: Books): Promise<{ root: string; customer: string }> {
    const [, root = ''] = await node.program.find(/root admin key +(svc_\w+)/);
    const [, customer = ''] = await node.program.find(/demo key +(svc_\w+)/);
    await giveMoney(books);
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
    const first = await this.node('shared', { environment, bundle: this.bundle });
    this.first = first;
    ({ root: this.root, customer: this.customer } = await this.prepareNode(first, this.books));
  }
}

async function giveMoney({ database }: Books): Promise<void> {
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
  for (let waited = 0; waited < 10_000; waited += 100) {
    const { status } = await fetch(`${url}/v1/models/${name}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    if (status === 200) return;
    await delay(100);
  }
  throw new Error(`the model ${name} did not appear`);
}
