import { Logger } from '@nestjs/common';
import type { DatabaseClock } from '../../../platform';
import type { EarlierJournals } from '../settlement/earlier-journals';
import type { SettlementQueue } from '../settlement/settlement-queue';
import type { MoneyStore } from '../store/money-store';
import type { NodeLease } from './node-lease';
import type { SliceAllocator } from './slice-allocator';

export interface LeaseOptions {
  readonly beatMs: number;
  /** This node goes on admitting for so long after a renewal was sent: less than the lease lasts. */
  readonly admitMs: number;
  /** A slice that was not used for so long is handed back whole. */
  readonly unusedMs: number;
}

export const leaseDefaults: LeaseOptions = { beatMs: 5_000, admitMs: 25_000, unusedMs: 15_000 };

const retryMs = 500;

/** A renewal works on these parts, apart from the lease itself. */
export interface RenewalParts {
  readonly store: MoneyStore;
  readonly clock: DatabaseClock;
  readonly allocator: SliceAllocator;
  readonly settlements: SettlementQueue;
  readonly earlier: EarlierJournals;
}

/** Renews this node's lease, takes back what dead nodes held, and hands back what is not used here. */
export class LeaseRenewal {
  private readonly logger = new Logger(LeaseRenewal.name);
  private lastBeat = -Infinity;
  private wake: () => void = () => undefined;
  private beating: Promise<void> = Promise.resolve();
  private stopped = false;
  /** So many renewals failed. */
  failures = 0;
  /** So many dead nodes have a journal that was not read, as of the last look. */
  unread = 0;
  /** These dead nodes were logged already. */
  private readonly reported = new Set<string>();

  constructor(
    private readonly lease: NodeLease,
    /** `journal` says where this node keeps its journal; it is null when the node keeps none. */
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
   * The lease ends with the node: what is left of it goes back at once, unless its journal has yet to be read. Answers
   * whether it did.
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
        pause = this.lease.begun ? this.options.beatMs : 0;
      } catch (error) {
        pause = retry;
        this.failures += 1;
        this.logger.warn(`The escrow lease could not be renewed: ${String(error)}`);
      }
    }
  }

  /** A wait that ends early when the lease is swept or the node stops. */
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
    const { id, begun } = this.lease;
    const beat = await store.beat(id, this.node.id, !begun, this.node.journal);
    if (id !== this.lease.id) return;
    if (!beat.alive) return this.lease.lapse();
    clock.synchronise(beat.now, sentAt);
    this.lease.renewed(sentAt + this.options.admitMs);
    for (const ref of beat.changed) allocator.limitChanged(ref);
    if (this.lease.inDoubt) await this.lease.audit(settlements);
    await allocator.handBackUnused(this.options.unusedMs);
    await this.sweep(sentAt);
  }

  /**
   * After a database outage every lease has expired, and the first node to return must not sweep leases that others
   * are about to renew. So only a node that has renewed twice in a row sweeps.
   */
  private async sweep(sentAt: number): Promise<void> {
    const steady = sentAt - this.lastBeat < 3 * this.options.beatMs;
    this.lastBeat = sentAt;
    if (!steady) return;
    const { store, earlier } = this.parts;
    await earlier.settle();
    const swept = await store.sweep();
    if (swept > 0) this.logger.warn(`Took back what ${swept} dead node(s) held.`);
    const dead = await store.unread();
    this.unread = dead.length;
    for (const { node, journal, held } of dead) {
      if (this.reported.has(node)) continue;
      this.reported.add(node);
      this.logger.warn(
        `Node ${node} is dead. What it took out of ${held.length} limit(s) stays held until its journal was read. ` +
          `Start a node on its data folder (${journal}), or give it up with "journal:forget ${node}".`,
      );
    }
  }
}
