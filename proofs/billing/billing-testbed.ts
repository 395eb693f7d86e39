import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Ledger } from '../../src/billing';
import { type RunningService, startService } from '../../src/boot/start-service';
import { SessionsService, UserAccount } from '../../src/identity';
import { Database, loadSettings, Logger } from '../../src/platform';
import { ProcessorSimulator } from '../../simulator/processor/processor-simulator';
import { PostgresServer } from '../money/postgres-server';

export interface Payer {
  readonly userId: number;
  readonly cookie: string;
}

/** A service, its database that may go away, and the processor. */
export class BillingTestbed {
  private constructor(
    readonly postgres: PostgresServer,
    readonly processor: ProcessorSimulator,
    readonly nodes: readonly RunningService[],
  ) {}

  static async open(nodes: number): Promise<BillingTestbed> {
    const [postgres, processor] = await Promise.all([PostgresServer.start(), ProcessorSimulator.start()]);
    const running: RunningService[] = [];
    for (let node = 0; node < nodes; node += 1)
      running.push(await startNode(postgres, `node-${node}`, processor.environment));
    return new BillingTestbed(postgres, processor, running);
  }

  get service(): RunningService {
    const [first] = this.nodes;
    if (first === undefined) throw new Error('there is a node');
    return first;
  }

  get database(): Database {
    return this.service.application.get(Database);
  }

  /** One more node, which takes payments by a simulated processor of its own. */
  startSandbox(): Promise<RunningService> {
    return startNode(this.postgres, 'sandbox', { PROCESSOR: 'sandbox' });
  }

  /** Signed in at one node: each has secrets of its own. */
  async payer(service = this.service): Promise<Payer> {
    const accounts = this.database.source.getRepository(UserAccount);
    const name = randomBytes(6).toString('hex');
    const user = accounts.create({ email: `${name}@example.com`, displayName: name, status: 'active' });
    await accounts.insert(user);
    const sessions = service.application.get(SessionsService, { strict: false });
    const token = await this.database.transaction((tx) => sessions.open(tx, user.id));
    return { userId: user.id, cookie: `svc_session=${token}` };
  }

  async post(path: string, { cookie }: Payer, json: object): Promise<Record<string, unknown>> {
    const { url } = this.service;
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { cookie, origin: url, 'content-type': 'application/json' },
      body: JSON.stringify(json),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`);
    return JSON.parse(text) as Record<string, unknown>;
  }

  async checkout(payer: Payer, cents: bigint): Promise<string> {
    const { url } = await this.post('/api/billing/checkout', payer, { amount: Number(cents) / 100 });
    return String(url).split('/').at(-1) ?? '';
  }

  async balance({ userId }: Payer): Promise<bigint> {
    return (await this.service.application.get(Ledger, { strict: false }).wallet(userId)).balance;
  }

  async close(): Promise<void> {
    for (const node of this.nodes) await node.close();
    await this.processor.stop();
    await this.postgres.stop();
  }
}

function startNode(
  postgres: PostgresServer,
  name: string,
  payments: Readonly<Record<string, string>>,
): Promise<RunningService> {
  const dataFolder = join(postgres.folder, name);
  mkdirSync(dataFolder);
  const settings = loadSettings({
    NODE_ENV: 'test',
    PORT: '0',
    METRICS_PORT: '0',
    DATA_FOLDER: dataFolder,
    DATABASE_URL: postgres.url,
    MIGRATION_DATABASE_URL: postgres.ownerUrl,
    DRAIN_TIMEOUT: '1s',
    SANDBOX: 'off',
    // Automatic top-ups are triggered by the proof alone.
    WORKERS: 'off',
    ...payments,
  });
  return startService(settings, Logger.create(settings, { write: () => undefined }));
}
