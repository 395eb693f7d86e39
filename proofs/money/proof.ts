import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { Ledger, Limits, type MoneyReport, verifyMoney } from '#product/billing';
import { uuidv7 } from '#product/kernel';
import { applicationUrl, Database } from '#product/platform';
import { Findings } from '../../test/system/findings';
import type { Answer, Call, GatewayNode, StartNode } from './node-handle';
import type { PostgresServer } from '../../test/system/postgres-server';

export const usd = 1_000_000_000n;

/** All the scenarios share a server, nodes, fresh wallets, and the books. */
export class Proof {
  readonly findings = new Findings('prove:money');
  readonly nodes: GatewayNode[] = [];
  private wallets = 1_000;
  private source?: DataSource;

  constructor(
    readonly postgres: PostgresServer,
    private readonly startNode: StartNode,
  ) {}

  async startNodes(count: number): Promise<void> {
    for (let place = this.nodes.length; place < count; place += 1) await this.startAt(place);
  }

  /** A node begins, or begins again, in the data folder of its place. */
  async startAt(place: number): Promise<void> {
    const dataFolder = join(this.postgres.folder, `node-${place}`);
    mkdirSync(dataFolder, { recursive: true });
    this.nodes[place] = await this.startNode({ url: this.postgres.url, dataFolder });
  }

  async database(): Promise<Database> {
    this.source ??= await new DataSource({
      type: 'postgres',
      url: applicationUrl(this.postgres.url),
      poolSize: 2,
    }).initialize();
    return new Database(this.source);
  }

  async query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return (await this.database()).query<Row>(sql, parameters);
  }

  /** A wallet with so much in it, and a key beside it with a limit far away. */
  async wallet(amount: bigint): Promise<number> {
    const database = await this.database();
    const walletId = (this.wallets += 1);
    await database.transaction(async (tx) => {
      await new Ledger(database).post(tx, {
        walletId,
        amount,
        against: 'adjustment',
        kind: 'topup',
        ref: uuidv7(),
      });
      await new Limits(database).set(
        tx,
        { kind: 'key', id: walletId },
        { period: 'monthly', limit: 1_000n * usd },
      );
    });
    return walletId;
  }

  async balance(walletId: number): Promise<bigint> {
    return (await new Ledger(await this.database()).wallet(walletId)).balance;
  }

  call(place: number, walletId: number, rest: Partial<Call> = {}): Promise<Answer> {
    return this.nodes[place]!.call({
      requestId: uuidv7(),
      walletId,
      keyId: walletId,
      bound: '5000000',
      cost: String(1_000_000 + Math.floor(Math.random() * 4_000_000)),
      answerMs: 30 + Math.random() * 170,
      ...rest,
    });
  }

  /** No settlement is committed from now on, until what it answers is called. */
  async holdSettlements(): Promise<() => Promise<void>> {
    const runner = (await this.database()).source.createQueryRunner();
    await runner.startTransaction();
    await runner.query('SELECT pg_advisory_xact_lock(727310)');
    return async () => {
      await runner.rollbackTransaction();
      await runner.release();
    };
  }

  /** Waits until everything that was settled is committed. */
  async quiet(): Promise<void> {
    await this.quietAt(...this.nodes.keys());
  }

  async quietAt(...places: readonly number[]): Promise<void> {
    for (let waited = 0; waited < 60_000; waited += 20) {
      const pending = await Promise.all(places.map((place) => this.nodes[place]!.pending()));
      if (pending.every((count) => count === 0)) return;
      await delay(20);
    }
    throw new Error('settlements are still pending after a minute');
  }

  async verify(): Promise<MoneyReport> {
    return verifyMoney(await this.database());
  }

  async drift(): Promise<number> {
    const { checks } = await this.verify();
    return checks.reduce((sum, { wrong }) => sum + wrong.length, 0);
  }

  add(what: string, wanted: string, found: string, held: boolean): void {
    this.findings.add(`${what.padEnd(82)} ${wanted.padEnd(12)}`, held, found);
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
    await this.source?.destroy();
    await this.postgres.stop();
  }
}

export const dollars = (nano: bigint): string => `$${(Number(nano) / 1e9).toFixed(4)}`;
export const percent = (share: number): string => `${(share * 100).toFixed(2)} %`;
