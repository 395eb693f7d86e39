import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { createPostgresBackend, Queue, setDefaultBackendFactory } from 'bullmq';
import { Pool } from 'pg';
import { ProcessorSimulator } from '../../test/support/processor/processor-simulator';
import { PostgresServer } from '../money/postgres-server';
import { ProofNode } from '../support/node';
import { Rows } from '../support/rows';

const LOOK_DEADLINE_MS = 60_000;

export interface Payer {
  readonly userId: number;
  readonly cookie: string;
}

/** Nodes, their database that may go away, and the processor. */
export class BillingTestbed {
  private constructor(
    readonly postgres: PostgresServer,
    readonly processor: ProcessorSimulator,
    readonly nodes: readonly ProofNode[],
    readonly rows: Rows,
    private readonly queue: Queue,
  ) {}

  static async open(count: number): Promise<BillingTestbed> {
    const [postgres, processor] = await Promise.all([PostgresServer.start(), ProcessorSimulator.start()]);
    const nodes: ProofNode[] = [];
    for (let place = 0; place < count; place += 1)
      nodes.push(
        await ProofNode.start(join(postgres.folder, `node-${place}`), {
          DATABASE_URL: postgres.url,
          MIGRATION_DATABASE_URL: postgres.ownerUrl,
          DRAIN_TIMEOUT: '1s',
          ...processor.environment,
        }),
      );
    return new BillingTestbed(postgres, processor, nodes, new Rows(postgres.ownerUrl), queueOf(postgres));
  }

  get node(): ProofNode {
    const [first] = this.nodes;
    if (first === undefined) throw new Error('there is a node');
    return first;
  }

  async payer(): Promise<Payer> {
    const { id } = await this.rows.addUser();
    return { userId: id, cookie: `svc_session=${await this.rows.openSession(id)}` };
  }

  /** So many looks at all wallets at once: the nodes take them from the queue, as they take those of the schedule. */
  async lookAtWallets(times: number): Promise<void> {
    const ids = Array.from({ length: times }, () => `proof-${randomUUID()}`);
    await Promise.all(ids.map((jobId) => this.queue.add('automatic-top-ups', {}, { jobId })));
    for (const deadline = Date.now() + LOOK_DEADLINE_MS; Date.now() < deadline; await delay(20)) {
      const jobs = await Promise.all(ids.map((id) => this.queue.getJob(id)));
      const ends = await Promise.all(jobs.map(async (job) => (await job?.isCompleted()) === true));
      if (ends.every(Boolean)) return;
    }
    throw new Error('the nodes do not look at the wallets');
  }

  async post(path: string, { cookie }: Payer, json: object): Promise<Record<string, unknown>> {
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

  async checkout(payer: Payer, cents: bigint): Promise<string> {
    const { url } = await this.post('/api/billing/checkout', payer, { amount: Number(cents) / 100 });
    return String(url).split('/').at(-1) ?? '';
  }

  balance({ userId }: Payer): Promise<bigint> {
    return this.rows.balance(userId);
  }

  async close(): Promise<void> {
    for (const node of this.nodes) await node.stop();
    await this.rows.close();
    await this.queue.close();
    await this.processor.stop();
    await this.postgres.stop();
  }
}

/** The queue of the nodes, in which the schedule puts its jobs, too. */
function queueOf({ ownerUrl }: PostgresServer): Queue {
  setDefaultBackendFactory(createPostgresBackend);
  const connection = new Pool({ connectionString: ownerUrl, options: '-c search_path=bullmq', max: 2 });
  connection.on('error', () => undefined);
  const queue = new Queue('upkeep', { connection });
  queue.on('error', () => undefined);
  return queue;
}
