import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ProcessorSimulator } from '../../simulator/processor/processor-simulator';
import { PostgresServer } from '../../test/system/postgres-server';
import { ProofNode } from '../../test/system/node';
import { InstallationDatabase } from '../../test/system/installation-database';

const JOB_DEADLINE_MS = 60_000;

export interface TestPayer {
  readonly userId: number;
  readonly cookie: string;
}

/** Nodes, their interruptible database and the payment processor. */
export class BillingTestbed {
  private constructor(
    readonly postgres: PostgresServer,
    readonly processor: ProcessorSimulator,
    readonly nodes: readonly ProofNode[],
    readonly rows: InstallationDatabase,
  ) {}

  static async open(count: number): Promise<BillingTestbed> {
    const [postgres, processor] = await Promise.all([PostgresServer.start(), ProcessorSimulator.start()]);
    const nodes: ProofNode[] = [];
    for (let index = 0; index < count; index += 1)
      nodes.push(await startNode(postgres, `node-${index}`, processor.environment));
    return new BillingTestbed(postgres, processor, nodes, new InstallationDatabase(postgres.ownerUrl));
  }

  get node(): ProofNode {
    const [first] = this.nodes;
    if (first === undefined) throw new Error('there is a node');
    return first;
  }

  async createPayer(): Promise<TestPayer> {
    const { id } = await this.rows.addUser();
    return { userId: id, cookie: `svc_session=${await this.rows.openSession(id)}` };
  }

  /** Makes a scheduled job due now and waits until a node has run it successfully. */
  async runJob(name: string): Promise<void> {
    const [due] = await this.rows.query<{ since: Date }>(
      'UPDATE repeating_job SET due_at = clock_timestamp() WHERE name = $1 RETURNING clock_timestamp() AS since',
      [name],
    );
    if (due === undefined) throw new Error(`no job is called ${name}`);
    for (const deadline = Date.now() + JOB_DEADLINE_MS; Date.now() < deadline; await delay(20)) {
      const [ended] = await this.rows.query(
        'SELECT 1 FROM repeating_job WHERE name = $1 AND claim IS NULL AND succeeded_at > $2',
        [name, due.since],
      );
      if (ended !== undefined) return;
    }
    throw new Error(`no node ran ${name}`);
  }

  /** Starts another node, with its own simulated payment processor. */
  startSandbox(): Promise<ProofNode> {
    return startNode(this.postgres, 'sandbox', { PROCESSOR: 'sandbox' });
  }

  async post(path: string, { cookie }: TestPayer, json: object): Promise<Record<string, unknown>> {
    const { url } = this.node;
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

  async checkout(payer: TestPayer, cents: bigint): Promise<string> {
    const { url } = await this.post('/api/billing/checkout', payer, { amount: Number(cents) / 100 });
    return String(url).split('/').at(-1) ?? '';
  }

  balance({ userId }: TestPayer): Promise<bigint> {
    return this.rows.balance(userId);
  }

  async close(): Promise<void> {
    for (const node of this.nodes) await node.stop();
    await this.rows.close();
    await this.processor.stop();
    await this.postgres.stop();
  }
}

const startNode = (
  postgres: PostgresServer,
  name: string,
  payments: Readonly<Record<string, string>>,
): Promise<ProofNode> =>
  ProofNode.start(join(postgres.folder, name), {
    DATABASE_URL: postgres.url,
    MIGRATION_DATABASE_URL: postgres.ownerUrl,
    DRAIN_TIMEOUT: '1s',
    KEY_PEPPER: 'the same on every node',
    ...payments,
  });
