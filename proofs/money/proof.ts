import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { Ledger, Limits, type MoneyReport, verifyMoney } from '#product/billing';
import { uuidv7 } from '#product/kernel';
import { applicationUrl, Database } from '#product/platform';
import { Findings } from '../../test/system/findings';
import type { MoneyCallOutcome, MoneyCall, MoneyNode, StartNode } from './node-handle';
import type { PostgresServer } from '../../test/system/postgres-server';

export const usd = 1_000_000_000n;

/** Shared by all scenarios: a server, nodes, new wallets and the books. */
export class Proof {
  readonly findings = new Findings('prove:money');
  readonly nodes: MoneyNode[] = [];
  private lastWalletId = 1_000;
  private source?: DataSource;

  constructor(
    readonly postgres: PostgresServer,
    private readonly startNode: StartNode,
  ) {}

  async startNodes(count: number): Promise<void> {
    for (let nodeIndex = this.nodes.length; nodeIndex < count; nodeIndex += 1) await this.startAt(nodeIndex);
  }

  /** Starts or restarts a node in the data folder of its index. */
  async startAt(nodeIndex: number): Promise<void> {
    const dataFolder = join(this.postgres.folder, `node-${nodeIndex}`);
    mkdirSync(dataFolder, { recursive: true });
    this.nodes[nodeIndex] = await this.startNode({ url: this.postgres.url, dataFolder });
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

  /** Creates a wallet with this balance and a key with a distant limit. */
  async wallet(amount: bigint): Promise<number> {
    const database = await this.database();
    const walletId = (this.lastWalletId += 1);
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

  call(nodeIndex: number, walletId: number, overrides: Partial<MoneyCall> = {}): Promise<MoneyCallOutcome> {
    return this.nodes[nodeIndex]!.call({
      requestId: uuidv7(),
      walletId,
      keyId: walletId,
      bound: '5000000',
      cost: String(1_000_000 + Math.floor(Math.random() * 4_000_000)),
      answerMs: 30 + Math.random() * 170,
      ...overrides,
    });
  }

  /** Blocks all settlements until the returned function is called. */
  async holdSettlements(): Promise<() => Promise<void>> {
    const runner = (await this.database()).source.createQueryRunner();
    await runner.startTransaction();
    await runner.query('SELECT pg_advisory_xact_lock(727310)');
    return async () => {
      await runner.rollbackTransaction();
      await runner.release();
    };
  }

  /** Waits until every settlement is committed. */
  async waitUntilSettled(): Promise<void> {
    await this.waitUntilSettledAt(...this.nodes.keys());
  }

  async waitUntilSettledAt(...places: readonly number[]): Promise<void> {
    for (let waitedMs = 0; waitedMs < 60_000; waitedMs += 20) {
      const pending = await Promise.all(places.map((nodeIndex) => this.nodes[nodeIndex]!.pending()));
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
