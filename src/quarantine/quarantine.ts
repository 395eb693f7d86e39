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
import { KeyActivity, KeysService } from '../keys';
import { Database, Logger, Metrics, QuarantineState, QueueSupervisor, type TableRow } from '../platform';
import type { Decisions } from './decisions';
import {
  EVALUATION_QUEUES,
  type QuarantineFindings,
  MAIL_QUEUES,
  type ProcessorFinding,
  QuarantineStore,
  type QuarantineRow,
} from './quarantine.store';

const POLL_INTERVAL_MS = 1_000;
/** Maximum lag behind the processor's events; a greater lag means that the list was not read to its end. */
const MAX_SWEEP_LAG_MS = 300_000;
const actor = systemActor('quarantine');

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const notReleasedError = (trouble: string) =>
  fault('service_unavailable', { message: trouble, details: { reason: 'not-released', trouble } });

@Injectable()
export class Quarantine implements OnModuleDestroy {
  private timer: NodeJS.Timeout | undefined;
  private release: () => void = () => undefined;
  private applying: Promise<void> | null = null;
  private lastWarning = '';
  private isServing = false;

  constructor(
    private readonly database: Database,
    private readonly state: QuarantineState,
    private readonly activity: ActivityLog,
    private readonly keys: KeysService,
    private readonly entries: KeyActivity,
    private readonly money: MoneyEngine,
    private readonly processor: PaymentProcessor,
    private readonly sweep: EventSweep,
    private readonly reconciliation: BillingReconciliation,
    private readonly queues: QueueSupervisor,
    private readonly logger: Logger,
    readonly store: QuarantineStore,
    metrics: Metrics,
  ) {
    const wasOpen = this.isOpen;
    metrics.beforeRead(() => metrics.quarantined.set({}, wasOpen && !this.isServing ? 1 : 0));
  }

  get isOpen(): boolean {
    return this.state.open !== null;
  }

  /** Polls for the decision, which can come from a command or another node. `release` opens the service. */
  async hold(release: () => void): Promise<void> {
    this.release = release;
    this.logger.warn('the installation was restored and is quarantined: an owner has to release it', {
      moment: this.state.open?.moment.toISOString(),
    });
    this.pollDecisions();
    await this.collectFindings().catch((error: unknown) =>
      this.logger.warn('not all could be looked at', { error }),
    );
  }

  onModuleDestroy(): void {
    clearTimeout(this.timer);
    this.isServing = true;
    this.release = () => undefined;
  }

  async collectFindings(): Promise<void> {
    const row = await this.store.latest();
    if (row === undefined || row.releasedAt !== null) return;
    const findings: QuarantineFindings = {
      at: new Date().toISOString(),
      jobs: await this.queues.waiting(),
      processor: await this.compareWithProcessor(row),
    };
    await this.database.query('UPDATE quarantine SET findings = $2 WHERE id = $1', [
      row.id,
      JSON.stringify(findings),
    ]);
  }

  /** Throws if something prevents the decisions from being applied; the next poll retries. */
  async applyDecisions(): Promise<void> {
    this.applying ??= this.applyPending().finally(() => (this.applying = null));
    await this.applying;
  }

  private pollDecisions(): void {
    this.timer = setTimeout(() => {
      this.applyDecisions()
        .catch((error: unknown) => this.warnOnce(error))
        .finally(() => this.isServing || this.pollDecisions());
    }, POLL_INTERVAL_MS).unref();
  }

  private warnOnce(error: unknown): void {
    const text = String(error);
    if (text !== this.lastWarning) this.logger.warn('the quarantine cannot be released yet', { error });
    this.lastWarning = text;
  }

  private async applyPending(): Promise<void> {
    if (this.isServing) return;
    const row = await this.store.latest();
    if (row === undefined || row.decisions === null) return;
    if (row.releasedAt === null) await this.applyAndRelease(row, row.decisions);
    this.state.markReleased();
    // Settled before any request is served; retried on failure.
    await this.money.settleQuarantined().catch((error: unknown) => {
      throw notReleasedError(reasonOf(error));
    });
    this.isServing = true;
    this.logger.warn('the quarantine is over');
    this.release();
  }

  private async applyAndRelease(row: QuarantineRow, decisions: Decisions): Promise<void> {
    const { nodes, taps } = await this.store.details(row);
    try {
      if (decisions.payments === 'take') await this.takePayments();
      if (decisions.keys === 'revoke') await this.revokeKeys();
      if (decisions.nodes === 'forget') await this.forgetNodes(nodes);
      if (decisions.mails === 'drop') await this.queues.drop(MAIL_QUEUES);
      if (decisions.evaluations === 'drop') await this.queues.drop(EVALUATION_QUEUES);
    } catch (error) {
      const trouble = reasonOf(error);
      await this.database.query('UPDATE quarantine SET trouble = $2 WHERE id = $1', [row.id, trouble]);
      throw notReleasedError(trouble);
    }
    await this.finish(row, decisions.taps === 'skip' ? taps : []);
  }

  /** Several nodes can apply the same decisions; only the node that updates the row writes the activity. */
  private async finish(row: QuarantineRow, skipped: readonly TapState[]): Promise<void> {
    await this.database.transaction(
      async (tx) => {
        const updateResult = await tx.query<[unknown[], number]>(
          'UPDATE quarantine SET released_at = now(), trouble = NULL WHERE id = $1 AND released_at IS NULL RETURNING id',
          [row.id],
        );
        if (updateResult[1] === 0) return;
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

  private async compareWithProcessor({ moment }: QuarantineRow): Promise<ProcessorFinding> {
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

  private async takePayments(): Promise<void> {
    if (!this.processor.isConnected) return;
    await this.sweep.run();
    const [swept] = await this.database.query<{ behind: number }>(
      `SELECT extract(epoch FROM now() - swept_until)::float8 * 1000 AS behind FROM processor_sweep
        WHERE live_mode = $1`,
      [this.processor.isLiveMode],
    );
    if (swept === undefined || swept.behind > MAX_SWEEP_LAG_MS)
      throw new Error('Not all events of the payment processor could be taken in. The log says which.');
  }

  private async revokeKeys(): Promise<void> {
    const unrevokedKeys = await this.database.rows<TableRow<'api_key', 'public_id'>>(
      "SELECT public_id FROM api_key WHERE kind = 'client' AND status <> 'revoked' ORDER BY id",
    );
    for (const { publicId } of unrevokedKeys) await this.revokeKey(publicId);
  }

  private async revokeKey(publicId: string): Promise<void> {
    await this.database.transaction(
      async (tx) => {
        const revoke = (): Promise<void> => this.keys.revoke(platformScope, tx, publicId);
        await this.entries.recordChange(tx, publicId, revoke, actor);
      },
      { withoutActivity: 'the entry of the key stands in its own name' },
    );
  }

  private async forgetNodes(nodes: readonly UnreadJournal[]): Promise<void> {
    const store = new PostgresMoneyStore(this.database);
    for (const { node, journal, held } of nodes) {
      const releasedHolds = held.map(({ ref, amount }) => `${ref.kind} ${ref.id}: ${formatUsd(amount)} USD`);
      await store.forget(node, (tx) =>
        this.activity.write(tx, {
          action: 'journal.forgotten',
          object: { type: 'journal', id: journal, label: node },
          concerns: {},
          changes: changesOf({ held: releasedHolds }, null),
          actor,
        }),
      );
    }
  }
}
