import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { uuidv7 } from '../../kernel';
import { DatabaseClock } from '../../platform';
import { Escrow, escrowDefaults, type EscrowOptions } from './escrow/escrow';
import { leaseDefaults, type LeaseOptions, LeaseRenewal } from './escrow/lease-renewal';
import { NodeLease } from './escrow/node-lease';
import type { Slice } from './escrow/slice';
import { SliceRegistry } from './escrow/slice-registry';
import { isScopeKind } from '../scope';
import { PreviousJournals } from './settlement/previous-journals';
import { Journal, type JournalDisk } from './settlement/journal';
import type { ReplayReport } from './settlement/journal-replay';
import { type SettlementCounts, SettlementQueue } from './settlement/settlement-queue';
import type { QuarantinedJournals } from './settlement/quarantined-journals';
import type { MoneyStore } from './store/money-store';

/** Channel through which nodes announce recalls, returns and changed limits. */
export interface Announcements {
  on(channel: string, handler: (payload: string) => void): Promise<() => void>;
  onGap(handler: () => void): () => void;
}

export interface MoneyEngineOptions {
  readonly dataFolder: string;
  readonly acknowledge: 'journal' | 'commit';
  readonly escrow?: Partial<EscrowOptions>;
  readonly lease?: Partial<LeaseOptions>;
  /** Maximum number of records per settlement transaction, and of pending records before admission pauses. */
  readonly chunk?: number;
  readonly maxPending?: number;
  /** Maximum wait for the commit when the journal cannot be written. */
  readonly commitWaitMs?: number;
  readonly disk?: JournalDisk;
  readonly quarantinedJournals?: QuarantinedJournals;
}

const channel = 'money';
const drainMs = 10_000;
const probeMs = 1_000;
const catchUpTimeoutMs = 1_000;
const defaultCommitWaitMs = 5_000;

export interface MoneyState {
  readonly leaseAgeMs: number;
  readonly leaseFailures: number;
  readonly leaseLapses: number;
  readonly unreadJournals: number;
  readonly journalBytes: number;
  readonly settlements: SettlementCounts;
  readonly slices: Iterable<Slice>;
}

/** Builds the money of one node from the bottom up and starts it in order: escrow, lease, journal and settlement. */
export class MoneyEngine {
  readonly escrow: Escrow;
  readonly node = uuidv7();
  private readonly registry = new SliceRegistry();
  private readonly lease: NodeLease;
  private readonly settlements: SettlementQueue;
  private readonly previousJournals: PreviousJournals;
  private readonly renewal: LeaseRenewal;
  private readonly folder: string;
  private journal: Journal | null = null;
  private probeTimer?: NodeJS.Timeout;
  private unsubscribe: (() => void)[] = [];

  constructor(
    store: MoneyStore,
    private readonly announcements: Announcements,
    private readonly options: MoneyEngineOptions,
  ) {
    this.folder = join(options.dataFolder, 'journal');
    const clock = new DatabaseClock();
    this.lease = new NodeLease(store, clock, this.registry);
    this.settlements = new SettlementQueue(store, this.lease, {
      chunk: options.chunk ?? 500,
      maxPending: options.maxPending ?? 50_000,
      commitWaitMs: options.commitWaitMs ?? defaultCommitWaitMs,
      folder: this.folder,
    });
    this.escrow = new Escrow(clock, this.registry, this.lease, this.settlements, {
      ...escrowDefaults,
      ...options.escrow,
    });
    this.previousJournals = new PreviousJournals(this.folder, store, options.quarantinedJournals);
    this.renewal = new LeaseRenewal(
      this.lease,
      { id: this.node, journal: this.usesJournal ? `${hostname()}:${this.folder}` : null },
      {
        store,
        clock,
        allocator: this.escrow.allocator,
        settlements: this.settlements,
        previousJournals: this.previousJournals,
      },
      { ...leaseDefaults, ...options.lease },
    );
  }

  /** Number of records on their way to the database. */
  get pending(): number {
    return this.settlements.pending;
  }

  /** Waits until everything charged so far on this node is in the database, for at most one second. */
  async waitUntilCommitted(): Promise<void> {
    if (this.pending > 0) await this.settlements.waitUntilCommitted(AbortSignal.timeout(catchUpTimeoutMs));
  }

  /** Age of the oldest pending record; 0 if none is pending. */
  get oldestPendingMs(): number {
    return this.settlements.oldestMs;
  }

  /** Reason why the journal cannot be written; undefined while it can. */
  get journalError(): unknown {
    return this.settlements.trouble;
  }

  /** False while the lease cannot be renewed; calls are then rejected. */
  get isAdmitting(): boolean {
    return this.lease.isAdmitting;
  }

  get state(): MoneyState {
    const { lease, renewal, settlements } = this;
    return {
      leaseAgeMs: lease.ageMs,
      leaseFailures: renewal.failureCount,
      leaseLapses: lease.lapses,
      unreadJournals: renewal.unreadJournals,
      journalBytes: settlements.journalBytes,
      settlements: settlements.counts,
      slices: this.registry.all(),
    };
  }

  async start(): Promise<ReplayReport> {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    await this.previousJournals.settleQuarantined();
    const report = await this.previousJournals.settle();
    await this.listen();
    await this.renewal.start();
    if (this.usesJournal) {
      const { disk } = this.options;
      this.journal = new Journal({ folder: this.folder, node: this.node, ...(disk ? { disk } : {}) });
    }
    this.settlements.start(this.journal);
    this.probeTimer = setInterval(() => this.journal?.probe(), probeMs).unref();
    return report;
  }

  /** Settles the quarantined journals as the operator decided when the quarantine ended. */
  async settleQuarantined(): Promise<void> {
    await this.previousJournals.settleQuarantined();
  }

  /**
   * Commits what is settled and hands back the rest. Records that cannot be committed stay on the disk, and their money
   * stays held.
   */
  async stop(): Promise<void> {
    for (const unsubscribe of this.unsubscribe.splice(0)) unsubscribe();
    clearInterval(this.probeTimer);
    this.escrow.allocator.stop();
    await this.settlements.waitUntilDrained(AbortSignal.timeout(drainMs));
    this.settlements.stop();
    const isHandedBack = await this.renewal.stop(this.pending === 0 || !this.usesJournal);
    this.journal?.close(isHandedBack);
  }

  /** If only the commit counts, an uncommitted record was not acknowledged either, so no journal is needed. */
  private get usesJournal(): boolean {
    return this.options.acknowledge === 'journal';
  }

  private async listen(): Promise<void> {
    const { allocator } = this.escrow;
    this.unsubscribe.push(
      await this.announcements.on(channel, (payload) => {
        const [event = '', first = '', second = ''] = payload.split(' ');
        if (event === 'recall' && first !== this.lease.id) allocator.handleRecall(second, first);
        if (event === 'returned') allocator.handleReturn(first);
        if (event === 'limit' && isScopeKind(first))
          allocator.handleLimitChange({ kind: first, id: Number(second) });
      }),
      // Any limit might have changed while no notifications arrived.
      this.announcements.onGap(() => {
        for (const slice of [...this.registry.all()]) allocator.handleLimitChange(slice.ref);
      }),
    );
  }
}
