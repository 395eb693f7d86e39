import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { ActivityLog, changesOf, systemActor, type TapState } from '../audit';
import {
  BillingReconciliation,
  EventSweep,
  MoneyEngine,
  PaymentProcessor,
  PostgresMoneyStore,
  type UnreadJournal,
} from '../billing';
import { DAY_MS, fault, formatUsd, platformScope } from '../kernel';
import { KeyEntries, KeysService } from '../keys';
import { Database, Logger, Metrics, QuarantineState, QueueSupervisor, type Row } from '../platform';
import type { Decisions } from './decisions';
import {
  EVALUATION_QUEUES,
  type Findings,
  MAIL_QUEUES,
  type ProcessorFinding,
  QuarantineBook,
  type QuarantineRow,
} from './quarantine-book';

const LOOK_EVERY_MS = 1_000;
/** The processor's list of events is behind by this much at most, or it was not read to its end. */
const SWEPT_WITHIN_MS = 300_000;
const actor = systemActor('quarantine');

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const notReleased = (trouble: string) =>
  fault('service_unavailable', { message: trouble, details: { reason: 'not-released', trouble } });

/** Holds a restored installation until an operator has decided, and carries the decisions out. */
@Injectable()
export class Quarantine implements OnModuleDestroy {
  readonly book: QuarantineBook;
  private timer: NodeJS.Timeout | undefined;
  private release: () => void = () => undefined;
  private carrying: Promise<void> | null = null;
  private told = '';
  private isServing = false;

  constructor(
    private readonly database: Database,
    private readonly state: QuarantineState,
    private readonly activity: ActivityLog,
    private readonly keys: KeysService,
    private readonly entries: KeyEntries,
    private readonly money: MoneyEngine,
    private readonly processor: PaymentProcessor,
    private readonly sweep: EventSweep,
    private readonly reconciliation: BillingReconciliation,
    private readonly queues: QueueSupervisor,
    private readonly logger: Logger,
    metrics: Metrics,
  ) {
    this.book = new QuarantineBook(database, activity);
    const wasOpen = this.isOpen;
    metrics.beforeRead(() => metrics.quarantined.set({}, wasOpen && !this.isServing ? 1 : 0));
  }

  get isOpen(): boolean {
    return this.state.open !== null;
  }

  /** Watches for the decision, which a command or another node may bring. `release` opens the service. */
  async hold(release: () => void): Promise<void> {
    this.release = release;
    this.logger.warn('the installation was restored and is quarantined: an owner has to release it', {
      moment: this.state.open?.moment.toISOString(),
    });
    this.watch();
    await this.look().catch((error: unknown) => this.logger.warn('not all could be looked at', { error }));
  }

  onModuleDestroy(): void {
    clearTimeout(this.timer);
    this.isServing = true;
    this.release = () => undefined;
  }

  /** Finds what only a running service can: jobs that wait, and what the processor knows. */
  async look(): Promise<void> {
    const row = await this.book.latest();
    if (row === undefined || row.releasedAt !== null) return;
    const findings: Findings = {
      at: new Date().toISOString(),
      jobs: await this.queues.waiting(),
      processor: await this.askProcessor(row),
    };
    await this.database.query('UPDATE quarantine SET findings = $2 WHERE id = $1', [
      row.id,
      JSON.stringify(findings),
    ]);
  }

  /** Throws where something keeps the decision from being carried out; it is tried again by itself. */
  async carryOut(): Promise<void> {
    this.carrying ??= this.carryOutOnce().finally(() => (this.carrying = null));
    await this.carrying;
  }

  private watch(): void {
    this.timer = setTimeout(() => {
      this.carryOut()
        .catch((error: unknown) => this.tellOnce(error))
        .finally(() => this.isServing || this.watch());
    }, LOOK_EVERY_MS).unref();
  }

  private tellOnce(error: unknown): void {
    const text = String(error);
    if (text !== this.told) this.logger.warn('the quarantine cannot be released yet', { error });
    this.told = text;
  }

  private async carryOutOnce(): Promise<void> {
    if (this.isServing) return;
    const row = await this.book.latest();
    if (row === undefined || row.decisions === null) return;
    if (row.releasedAt === null) await this.carryOutDecisions(row, row.decisions);
    this.state.released();
    // Before anybody is served, and again where it fails.
    await this.money.settleSetAside().catch((error: unknown) => {
      throw notReleased(reasonOf(error));
    });
    this.isServing = true;
    this.logger.warn('the quarantine is over');
    this.release();
  }

  private async carryOutDecisions(row: QuarantineRow, decisions: Decisions): Promise<void> {
    const { nodes, taps } = await this.book.between(row);
    try {
      if (decisions.payments === 'take') await this.takePayments();
      if (decisions.keys === 'revoke') await this.revokeKeys();
      if (decisions.nodes === 'forget') await this.forgetNodes(nodes);
      if (decisions.mails === 'drop') await this.queues.drop(MAIL_QUEUES);
      if (decisions.evaluations === 'drop') await this.queues.drop(EVALUATION_QUEUES);
    } catch (error) {
      const trouble = reasonOf(error);
      await this.database.query('UPDATE quarantine SET trouble = $2 WHERE id = $1', [row.id, trouble]);
      throw notReleased(trouble);
    }
    await this.finish(row, decisions.taps === 'skip' ? taps : []);
  }

  /** Several nodes may carry out the same; one of them says so. */
  private async finish(row: QuarantineRow, skipped: readonly TapState[]): Promise<void> {
    await this.database.transaction(
      async (tx) => {
        const done = await tx.query<[unknown[], number]>(
          'UPDATE quarantine SET released_at = now(), trouble = NULL WHERE id = $1 AND released_at IS NULL RETURNING id',
          [row.id],
        );
        if (done[1] === 0) return;
        await tx.query(
          `UPDATE tap SET after_xid = o.xid, after_id = o.id
             FROM (SELECT xid, id FROM tap_outbox ORDER BY xid DESC, id DESC LIMIT 1) o
            WHERE name = ANY ($1) AND (after_xid, after_id) < (o.xid, o.id)`,
          [skipped.map(({ name }) => name)],
        );
        await this.activity.write(tx, {
          action: 'quarantine.released',
          object: { type: 'quarantine', id: row.id },
          concerns: {},
          changes: changesOf(null, { ...row.decisions }),
          actor,
        });
      },
      { withoutActivity: 'the decision is on record, and so is the release' },
    );
  }

  private async askProcessor({ moment }: QuarantineRow): Promise<ProcessorFinding> {
    if (!this.processor.isConnected) return { state: 'off' };
    try {
      const days = (Date.now() - moment.getTime()) / DAY_MS;
      const { since, compared, differences } = await this.reconciliation.reconcile(days);
      return {
        state: 'compared',
        since: since.toISOString(),
        payments: compared,
        differences: differences.map(({ intentId, problem, ours, theirs }) => ({
          ...{ intentId, problem },
          ...{ oursCents: ours.toString(), theirsCents: theirs.toString() },
        })),
      };
    } catch (error) {
      return { state: 'unreached', error: reasonOf(error) };
    }
  }

  /** Everything the processor tells of since then comes in by the door of its webhook, once. */
  private async takePayments(): Promise<void> {
    if (!this.processor.isConnected) return;
    await this.sweep.run();
    const [swept] = await this.database.query<{ behind: number }>(
      `SELECT extract(epoch FROM now() - swept_until)::float8 * 1000 AS behind FROM processor_sweep
        WHERE live_mode = $1`,
      [this.processor.isLiveMode],
    );
    if (swept === undefined || swept.behind > SWEPT_WITHIN_MS)
      throw new Error('Not all events of the payment processor could be taken in. The log says which.');
  }

  private async revokeKeys(): Promise<void> {
    const alive = await this.database.rows<Row<'api_key', 'public_id'>>(
      "SELECT public_id FROM api_key WHERE kind = 'client' AND status <> 'revoked' ORDER BY id",
    );
    for (const { publicId } of alive) await this.revokeKey(publicId);
  }

  private async revokeKey(publicId: string): Promise<void> {
    await this.database.transaction(
      async (tx) => {
        const revoke = (): Promise<void> => this.keys.revoke(platformScope, tx, publicId);
        await this.entries.changing(tx, publicId, revoke, actor);
      },
      { withoutActivity: 'the entry of the key stands in its own name' },
    );
  }

  private async forgetNodes(nodes: readonly UnreadJournal[]): Promise<void> {
    const store = new PostgresMoneyStore(this.database);
    for (const { node, journal, held } of nodes) {
      const freed = held.map(({ ref, amount }) => `${ref.kind} ${ref.id}: ${formatUsd(amount)} USD`);
      await store.forget(node, (tx) =>
        this.activity.write(tx, {
          action: 'journal.forgotten',
          object: { type: 'journal', id: journal, label: node },
          concerns: {},
          changes: changesOf({ held: freed }, null),
          actor,
        }),
      );
    }
  }
}
