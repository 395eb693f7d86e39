import { ordinaryOutcome } from '../../../proofs/money/record';
import { rmSync } from 'node:fs';
import { Logger } from '#inside/boot/packages';
import { DataSource } from 'typeorm';
import {
  Ledger,
  type LimitRef,
  Limits,
  MoneyEngine,
  type MoneyEngineOptions,
  PostgresMoneyStore,
  type SettleOutcome,
  verifyMoney,
} from '#product/billing';
import type { MoneyStore } from '../../../src/billing/engine/store/money-store';
import { Database, Notifications } from '#product/platform';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';

/** A separate database with any number of nodes. */
export class MoneyFixture {
  readonly ledger: Ledger;
  readonly limits: Limits;
  private readonly folders: string[] = [];
  private readonly runningNodes: { stop(): Promise<void> }[] = [];

  private constructor(
    readonly test: TestDatabase,
    readonly database: Database,
  ) {
    this.ledger = new Ledger(database);
    this.limits = new Limits(database);
  }

  static async open(): Promise<MoneyFixture> {
    // Errors that these tests cause on purpose would fill the output.
    Logger.overrideLogger(false);
    const testDatabase = await createTestDatabase();
    return new MoneyFixture(testDatabase, await connect(testDatabase.url));
  }

  /** Starts a node with its own connections and, unless one is given, its own data folder. */
  async node(
    options: Partial<MoneyEngineOptions> = {},
    storeOn = (own: Database): MoneyStore => new PostgresMoneyStore(own),
  ): Promise<MoneyEngine> {
    const database = await connect(this.test.url);
    const notifications = new Notifications({ url: this.test.url });
    await notifications.start();
    const dataFolder = options.dataFolder ?? this.createFolder();
    const engine = new MoneyEngine(storeOn(database), notifications, {
      acknowledge: 'journal',
      ...options,
      dataFolder,
    });
    await engine.start();
    this.runningNodes.push({
      stop: async () => {
        await engine.stop();
        await notifications.onApplicationShutdown();
        await database.source.destroy();
      },
    });
    return engine;
  }

  createFolder(): string {
    const folder = makeScratchFolder('switchboard-money-');
    this.folders.push(folder);
    return folder;
  }

  credit(walletId: number, amount: bigint, ref = String(Math.random())): Promise<boolean> {
    return this.database.transaction((tx) =>
      this.ledger.post(tx, { walletId, amount, against: 'adjustment', kind: 'topup', ref }),
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.runningNodes.map((node) => node.stop()));
    await this.database.source.destroy();
    await this.test.drop();
    for (const folder of this.folders) rmSync(folder, { recursive: true, force: true });
  }
}

async function connect(url: string): Promise<Database> {
  const source = await new DataSource({ type: 'postgres', url, poolSize: 8 }).initialize();
  return new Database(source);
}

/** Verifies every invariant; called at the end of every test with money. */
export async function expectMoneyToAddUp(database: Database): Promise<void> {
  const { checks } = await verifyMoney(database);
  expect(checks.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
}

export const wallet = (id: number): LimitRef => ({ kind: 'wallet', id });
export const key = (id: number): LimitRef => ({ kind: 'key', id });

/** Outcome of a call with this cost, attributed to the given scopes. */
export function outcomeOf(costNano: bigint, refs: readonly LimitRef[]): SettleOutcome {
  const id = (kind: LimitRef['kind']) => refs.find((ref) => ref.kind === kind)?.id ?? null;
  return ordinaryOutcome({
    keyId: id('key'),
    projectId: id('project'),
    departmentId: id('department'),
    userId: id('user'),
    organisationId: id('organisation'),
    walletId: id('wallet'),
    costNano,
  });
}
