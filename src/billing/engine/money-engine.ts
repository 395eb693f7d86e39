import { writtenRecord } from '../../audit';
import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { type Fault, fault, type Nano, uuidv7 } from '../../kernel';
import { DatabaseClock } from '../../platform';
import { Escrow, escrowDefaults, type EscrowOptions } from './escrow/escrow';
import type { Hold, SettleOutcome } from './escrow/hold';
import { leaseDefaults, LeaseKeeper, type LeaseOptions } from './escrow/lease-keeper';
import { cannotCheck } from './escrow/refusal';
import type { Slice } from './escrow/slice';
import { SliceBook } from './escrow/slice-book';
import { isScopeKind } from '../scope';
import { Journal, type JournalDisk } from './settlement/journal';
import { replayJournals, type ReplayReport, setAside } from './settlement/journal-replay';
import { SettlementLine } from './settlement/settlement-line';
import type { MoneyStore } from './store/money-store';

/** How nodes tell one another about recalls, returns and changed limits. */
export interface Announcements {
  on(channel: string, handler: (payload: string) => void): Promise<() => void>;
  onGap(handler: () => void): () => void;
}

export interface MoneyEngineOptions {
  readonly dataFolder: string;
  readonly acknowledge: 'journal' | 'commit';
  readonly escrow?: Partial<EscrowOptions>;
  readonly lease?: Partial<LeaseOptions>;
  /** Records a settlement transaction takes at most, and records that may wait before admission pauses. */
  readonly chunk?: number;
  readonly mostPending?: number;
  /** How long an answer waits for the commit when the journal cannot be written. */
  readonly commitWaitMs?: number;
  readonly disk?: JournalDisk;
}

const channel = 'money';
const drainMs = 10_000;
const probeMs = 1_000;
const usualCommitWaitMs = 5_000;

/** One node's money: escrow, lease, journal and settlement, put together and started in the right order. */
export class MoneyEngine {
  readonly escrow: Escrow;
  readonly node = uuidv7();
  private readonly logger = new Logger(MoneyEngine.name);
  private readonly clock = new DatabaseClock();
  private readonly book = new SliceBook();
  private readonly keeper: LeaseKeeper;
  private readonly folder: string;
  private readonly mostPending: number;
  private journal?: Journal;
  private line?: SettlementLine;
  private probing?: NodeJS.Timeout;
  private unsubscribe: (() => void)[] = [];

  constructor(
    private readonly store: MoneyStore,
    private readonly announcements: Announcements,
    private readonly options: MoneyEngineOptions,
  ) {
    this.folder = join(options.dataFolder, 'journal');
    this.mostPending = options.mostPending ?? 50_000;
    this.escrow = new Escrow(
      {
        clock: this.clock,
        book: this.book,
        desk: () => this.keeper.desk,
        closed: () => this.closed(),
        record: (hold, slices, used, outcome) => this.record(hold, slices, used, outcome),
      },
      { ...escrowDefaults, ...options.escrow },
    );
    const lease = { ...leaseDefaults, ...options.lease };
    this.keeper = new LeaseKeeper(
      store,
      this.node,
      this.clock,
      this.book,
      {
        journal: this.keepsJournal ? `${hostname()}:${this.folder}` : null,
        readJournals: async () => void (await this.readJournals()),
        limitChanged: (ref) => this.escrow.teller.limitChanged(ref),
        settling: () => this.line?.activity() ?? { busy: false, commits: 0 },
        handBackIdle: () => this.handBackIdle(lease.unusedMs),
      },
      lease,
    );
  }

  /** Records on their way to the database. */
  get pending(): number {
    return this.line?.pending ?? 0;
  }

  /** Why the journal cannot be written at present; undefined while it can. */
  get trouble(): unknown {
    return this.journal?.trouble;
  }

  /** First what earlier runs left behind, then this one. */
  async start(): Promise<ReplayReport> {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const report = await this.readJournals();
    await this.listen();
    await this.keeper.start();
    if (this.keepsJournal)
      this.journal = new Journal({
        folder: this.folder,
        node: this.node,
        ...(this.options.disk ? { disk: this.options.disk } : {}),
      });
    this.line = new SettlementLine(this.store, this.journal ?? null, () => this.keeper.desk.lease, {
      chunk: this.options.chunk ?? 500,
      commitWaitMs: this.options.commitWaitMs ?? usualCommitWaitMs,
      freed: (slices) => this.escrow.freed(slices),
      setAside: (record, reason) => setAside(this.folder, record, reason),
    });
    this.probing = setInterval(() => this.journal?.probe(), probeMs).unref();
    return report;
  }

  /** Commits what is settled and hands everything back; what could not be committed stays on the disk, and held. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.unsubscribe.splice(0)) unsubscribe();
    clearInterval(this.probing);
    this.escrow.teller.stop();
    await this.line?.drained(AbortSignal.timeout(drainMs));
    this.line?.stop();
    this.journal?.close(await this.keeper.stop(this.pending === 0 || !this.keepsJournal));
  }

  /** Where only the commit counts, a record that was not committed was not acknowledged either. */
  private get keepsJournal(): boolean {
    return this.options.acknowledge === 'journal';
  }

  /** Settles what earlier runs, and nodes that shared this folder, left behind. */
  private async readJournals(): Promise<ReplayReport> {
    const report = await replayJournals(this.folder, this.store);
    for (const { file, at } of report.torn) {
      this.logger.error(`The journal ${file} is damaged at byte ${at}: everything before it was settled.`);
    }
    for (const file of report.forgotten) {
      this.logger.warn(`The journal ${file} was given up with journal:forget: nothing of it is charged.`);
    }
    if (report.records > 0) this.logger.log(`Settled ${report.records} journalled records of earlier runs.`);
    return report;
  }

  /** Why nothing may be held at present. */
  private closed(): Fault | undefined {
    if (!this.keeper.admits) return fault('billing_unavailable', { retryAfterSeconds: 2 });
    if (this.journal?.trouble !== undefined) return cannotCheck(this.journal.trouble);
    if (this.line === undefined || this.line.pending >= this.mostPending) {
      return fault('billing_unavailable', { retryAfterSeconds: 2 });
    }
    return undefined;
  }

  private record(
    hold: Hold,
    slices: readonly Slice[],
    used: readonly Nano[],
    outcome: SettleOutcome,
  ): Promise<void> {
    // Two spellings are one id.
    const record = writtenRecord(hold.requestId.toLowerCase(), hold.heldAt, outcome);
    if (this.line === undefined) throw new Error('the money engine has not been started');
    return this.line.record(record, slices, used);
  }

  private async listen(): Promise<void> {
    const { teller } = this.escrow;
    this.unsubscribe.push(
      await this.announcements.on(channel, (payload) => {
        const [word = '', first = '', second = ''] = payload.split(' ');
        if (word === 'recall' && first !== this.keeper.desk.lease) teller.recalled(second, first);
        if (word === 'returned') teller.returned(first);
        if (word === 'limit' && isScopeKind(first)) teller.limitChanged({ kind: first, id: Number(second) });
      }),
      // Any limit may have changed while nothing was heard.
      this.announcements.onGap(() => {
        for (const slice of [...this.book.all()]) teller.limitChanged(slice.ref);
      }),
    );
  }

  /** Keeps what two seconds may need; a slice that is no longer used goes back whole and is forgotten. */
  private async handBackIdle(unusedMs: number): Promise<void> {
    const elapsed = this.clock.elapsedMs();
    const unused = (slice: Slice): boolean =>
      !this.book.isCurrent(slice) || elapsed - slice.lastUsedAt > unusedMs || this.ended(slice);
    await this.escrow.teller.handBack(() =>
      this.escrow.teller.portionsOf([...this.book.all()], (slice) =>
        unused(slice) ? 0n : slice.twoSeconds(elapsed) * 2n,
      ),
    );
    for (const slice of [...this.book.all()]) if (unused(slice) && slice.drawn === 0n) this.book.drop(slice);
  }

  private ended({ window }: Slice): boolean {
    return window !== null && window.endsAt <= this.clock.now();
  }
}
