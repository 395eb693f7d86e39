import { Logger } from '@nestjs/common';
import type { DatabaseClock } from '../../../platform';
import type { PreviousJournals } from '../settlement/previous-journals';
import type { SettlementQueue } from '../settlement/settlement-queue';
import type { MoneyStore } from '../store/money-store';
import type { NodeLease } from './node-lease';
import type { SliceAllocator } from './slice-allocator';

export interface LeaseOptions {
  readonly beatMs: number;
  /** How long this node keeps admitting after a renewal was sent; less than the duration of the lease. */
  readonly admitMs: number;
  /** A slice unused for this long is handed back completely. */
  readonly maxUnusedMs: number;
}

export const leaseDefaults: LeaseOptions = { beatMs: 5_000, admitMs: 25_000, maxUnusedMs: 15_000 };

const retryMs = 500;

export interface RenewalParts {
  readonly store: MoneyStore;
  readonly clock: DatabaseClock;
  readonly allocator: SliceAllocator;
  readonly settlements: SettlementQueue;
  readonly previousJournals: PreviousJournals;
}

/** Renews this node's lease, takes back what dead nodes held, and hands back money unused here. */
export class LeaseRenewal {
  private readonly logger = new Logger(LeaseRenewal.name);
  private lastBeat = -Infinity;
  private wake: () => void = () => undefined;
  private beating: Promise<void> = Promise.resolve();
  private stopped = false;
  failureCount = 0;
  /** Number of dead nodes with an unread journal, as of the last check. */
  unreadJournals = 0;
  private readonly reportedNodes = new Set<string>();

  constructor(
    private readonly lease: NodeLease,
    /** `journal` is the location of this node's journal; null if it keeps none. */
    private readonly node: { readonly id: string; readonly journal: string | null },
    private readonly parts: RenewalParts,
    private readonly options: LeaseOptions = leaseDefaults,
  ) {
    lease.on('lapsed', () => this.wake());
  }

  async start(): Promise<void> {
    await this.beat();
    this.beating = this.keepBeating();
  }

  /**
   * Ends the lease and hands back the rest immediately, unless this node's journal has yet to be read. Returns whether
   * the rest was handed back.
   */
  async stop(isSettled: boolean): Promise<boolean> {
    this.stopped = true;
    this.lease.close();
    this.wake();
    await this.beating;
    if (!isSettled) return false;
    return this.parts.store.sweep(this.node.id).then(
      () => true,
      () => false,
    );
  }

  private async keepBeating(): Promise<void> {
    const retry = Math.min(retryMs, this.options.beatMs);
    let pause = this.options.beatMs;
    while (!this.stopped) {
      await this.sleep(pause);
      if (this.stopped) return;
      try {
        await this.beat();
        pause = this.lease.isStarted ? this.options.beatMs : 0;
      } catch (error) {
        pause = retry;
        this.failureCount += 1;
        this.logger.warn(`The escrow lease could not be renewed: ${String(error)}`);
      }
    }
  }

  private sleep(pause: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, pause);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private async beat(): Promise<void> {
    const { store, clock, allocator, settlements } = this.parts;
    const sentAt = clock.elapsedMs();
    const { id, isStarted } = this.lease;
    const beat = await store.beat(id, this.node.id, !isStarted, this.node.journal);
    if (id !== this.lease.id) return;
    if (!beat.alive) return this.lease.lapse();
    clock.synchronise(beat.now, sentAt);
    this.lease.markRenewed(sentAt + this.options.admitMs);
    for (const ref of beat.changed) allocator.handleLimitChange(ref);
    if (this.lease.inDoubt) await this.lease.audit(settlements);
    await allocator.handBackUnused(this.options.maxUnusedMs);
    await this.sweep(sentAt);
  }

  /**
   * After a database outage all leases have expired, and the first node to return must not sweep leases that others are
   * about to renew. Only a node that has renewed twice in a row sweeps.
   */
  private async sweep(sentAt: number): Promise<void> {
    const hasRenewedRecently = sentAt - this.lastBeat < 3 * this.options.beatMs;
    this.lastBeat = sentAt;
    if (!hasRenewedRecently) return;
    const { store, previousJournals } = this.parts;
    await previousJournals.settle();
    const swept = await store.sweep();
    if (swept > 0) this.logger.warn(`Took back what ${swept} dead node(s) held.`);
    const dead = await store.unreadJournals();
    this.unreadJournals = dead.length;
    for (const { node, journal, held } of dead) {
      if (this.reportedNodes.has(node)) continue;
      this.reportedNodes.add(node);
      this.logger.warn(
        `Node ${node} is dead. What it took out of ${held.length} limit(s) stays held until its journal was read. ` +
          `Start a node on its data folder (${journal}), or give it up with "journal:forget ${node}".`,
      );
    }
  }
}
