import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { uuidv7 } from '../../kernel';
import { DatabaseClock } from '../../platform';
import { Escrow, escrowDefaults, type EscrowOptions } from './escrow/escrow';
import { leaseDefaults, type LeaseOptions, LeaseRenewal } from './escrow/lease-renewal';
import { NodeLease } from './escrow/node-lease';
import type { Slice } from './escrow/slice';
import { SliceBook } from './escrow/slice-book';
import { isScopeKind } from '../scope';
import { EarlierJournals } from './settlement/earlier-journals';
import { Journal, type JournalDisk } from './settlement/journal';
import type { ReplayReport } from './settlement/journal-replay';
import { type SettlementCounts, SettlementQueue } from './settlement/settlement-queue';
import type { SetAsideJournals } from './settlement/set-aside-journals';
import type { MoneyStore } from './store/money-store';

/** Nodes tell one another about recalls, returns and changed limits by these. */
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
  /** An answer waits so long for the commit when the journal cannot be written. */
  readonly commitWaitMs?: number;
  readonly disk?: JournalDisk;
  readonly setAside?: SetAsideJournals;
}

const channel = 'money';
const drainMs = 10_000;
const probeMs = 1_000;
const caughtUpMs = 1_000;
const usualCommitWaitMs = 5_000;

/** What an operator has to know of a node's money. */
export interface MoneyState {
  readonly leaseAgeMs: number;
  readonly leaseFailures: number;
  readonly leaseLapses: number;
  readonly unreadJournals: number;
  readonly journalBytes: number;
  readonly settlements: SettlementCounts;
  readonly slices: Iterable<Slice>;
}

/**
 * Builds one node's money from the bottom up and starts it in the right order: escrow, lease, journal and settlement.
 */
export class MoneyEngine {
  readonly escrow: Escrow;
  readonly node = uuidv7();
  private readonly book = new SliceBook();
  private readonly lease: NodeLease;
  private readonly settlements: SettlementQueue;
  private readonly earlier: EarlierJournals;
  private readonly renewal: LeaseRenewal;
  private readonly folder: string;
  private journal: Journal | null = null;
  private probing?: NodeJS.Timeout;
  private unsubscribe: (() => void)[] = [];

  constructor(
    store: MoneyStore,
    private readonly announcements: Announcements,
    private readonly options: MoneyEngineOptions,
  ) {
    this.folder = join(options.dataFolder, 'journal');
    const clock = new DatabaseClock();
    this.lease = new NodeLease(store, clock, this.book);
    this.settlements = new SettlementQueue(store, this.lease, {
      chunk: options.chunk ?? 500,
      mostPending: options.mostPending ?? 50_000,
      commitWaitMs: options.commitWaitMs ?? usualCommitWaitMs,
      folder: this.folder,
    });
    this.escrow = new Escrow(clock, this.book, this.lease, this.settlements, {
      ...escrowDefaults,
      ...options.escrow,
    });
    this.earlier = new EarlierJournals(this.folder, store, options.setAside);
    this.renewal = new LeaseRenewal(
      this.lease,
      { id: this.node, journal: this.keepsJournal ? `${hostname()}:${this.folder}` : null },
      {
        store,
        clock,
        allocator: this.escrow.allocator,
        settlements: this.settlements,
        earlier: this.earlier,
      },
      { ...leaseDefaults, ...options.lease },
    );
  }

  /** So many records are on their way to the database. */
  get pending(): number {
    return this.settlements.pending;
  }

  /** Waits until what this node has charged so far is in the database, for at most a second. */
  async caughtUp(): Promise<void> {
    if (this.pending > 0) await this.settlements.caughtUp(AbortSignal.timeout(caughtUpMs));
  }

  /** The oldest of them has waited for so long; 0 where none waits. */
  get oldestPendingMs(): number {
    return this.settlements.oldestMs;
  }

  /** The journal cannot be written for this reason; undefined while it can. */
  get trouble(): unknown {
    return this.settlements.trouble;
  }

  /** It is false while the lease cannot be renewed: then calls are refused. */
  get admits(): boolean {
    return this.lease.admits;
  }

  get state(): MoneyState {
    const { lease, renewal, settlements } = this;
    return {
      leaseAgeMs: lease.ageMs,
      leaseFailures: renewal.failures,
      leaseLapses: lease.lapses,
      unreadJournals: renewal.unread,
      journalBytes: settlements.journalBytes,
      settlements: settlements.counts,
      slices: this.book.all(),
    };
  }

  /** It settles the journals of earlier runs before its own. */
  async start(): Promise<ReplayReport> {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    await this.earlier.settleSetAside();
    const report = await this.earlier.settle();
    await this.listen();
    await this.renewal.start();
    if (this.keepsJournal) {
      const { disk } = this.options;
      this.journal = new Journal({ folder: this.folder, node: this.node, ...(disk ? { disk } : {}) });
    }
    this.settlements.start(this.journal);
    this.probing = setInterval(() => this.journal?.probe(), probeMs).unref();
    return report;
  }

  /** The quarantine is over: what was set aside is charged, or left, as the operator decided. */
  async settleSetAside(): Promise<void> {
    await this.earlier.settleSetAside();
  }

  /** Commits what is settled and hands everything back; what could not be committed stays on the disk, and held. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.unsubscribe.splice(0)) unsubscribe();
    clearInterval(this.probing);
    this.escrow.allocator.stop();
    await this.settlements.drained(AbortSignal.timeout(drainMs));
    this.settlements.stop();
    const handedBack = await this.renewal.stop(this.pending === 0 || !this.keepsJournal);
    this.journal?.close(handedBack);
  }

  /** Where only the commit counts, a record that was not committed was not acknowledged either. */
  private get keepsJournal(): boolean {
    return this.options.acknowledge === 'journal';
  }

  private async listen(): Promise<void> {
    const { allocator } = this.escrow;
    this.unsubscribe.push(
      await this.announcements.on(channel, (payload) => {
        const [word = '', first = '', second = ''] = payload.split(' ');
        if (word === 'recall' && first !== this.lease.id) allocator.recalled(second, first);
        if (word === 'returned') allocator.returned(first);
        if (word === 'limit' && isScopeKind(first))
          allocator.limitChanged({ kind: first, id: Number(second) });
      }),
      // Any limit may have changed while nothing was heard.
      this.announcements.onGap(() => {
        for (const slice of [...this.book.all()]) allocator.limitChanged(slice.ref);
      }),
    );
  }
}
