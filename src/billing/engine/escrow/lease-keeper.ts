import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { LimitRef } from '../../scope';
import type { MoneyStore } from '../store/money-store';
import type { DatabaseClock } from '../../../platform';
import { type Activity, LeaseDesk } from './lease-desk';
import type { SliceBook } from './slice-book';

export interface LeaseOptions {
  readonly beatMs: number;
  /** How long after a renewal was sent this node goes on admitting: less than the lease lasts. */
  readonly admitMs: number;
  /** A slice that was not used for so long is handed back whole. */
  readonly unusedMs: number;
}

export const leaseDefaults: LeaseOptions = { beatMs: 5_000, admitMs: 25_000, unusedMs: 15_000 };

const retryMs = 500;

/** Renews this node's lease, takes back what dead nodes held, and hands back what lies idle here. */
export class LeaseKeeper {
  private readonly logger = new Logger(LeaseKeeper.name);
  private current: LeaseDesk;
  private admitUntil = -Infinity;
  private lastBeat = -Infinity;
  private wake: () => void = () => undefined;
  private beating: Promise<void> = Promise.resolve();
  private stopped = false;
  /** Dead nodes that the log has named. */
  private readonly told = new Set<string>();

  constructor(
    private readonly store: MoneyStore,
    private readonly node: string,
    private readonly clock: DatabaseClock,
    private readonly book: SliceBook,
    private readonly around: {
      /** Where this node keeps its journal; null when it keeps none. */
      readonly journal: string | null;
      readonly readJournals: () => Promise<void>;
      readonly limitChanged: (ref: LimitRef) => void;
      readonly settling: () => Activity;
      readonly handBackIdle: () => Promise<void>;
    },
    private readonly options: LeaseOptions = leaseDefaults,
  ) {
    this.current = this.newDesk();
  }

  get desk(): LeaseDesk {
    return this.current;
  }

  /** False as soon as the lease might end before a request that is admitted now is counted. */
  get admits(): boolean {
    return !this.stopped && this.clock.elapsedMs() < this.admitUntil;
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
    this.wake();
    await this.beating;
    if (!isSettled) return false;
    return this.store.sweep(this.node).then(
      () => true,
      () => false,
    );
  }

  private newDesk(): LeaseDesk {
    const desk: LeaseDesk = new LeaseDesk(this.store, randomUUID(), () => {
      if (desk === this.current) this.lapse();
    });
    return desk;
  }

  private async keepBeating(): Promise<void> {
    const retry = Math.min(retryMs, this.options.beatMs);
    let pause = this.options.beatMs;
    while (!this.stopped) {
      await this.sleep(pause);
      if (this.stopped) return;
      try {
        await this.beat();
        pause = this.current.begun ? this.options.beatMs : 0;
      } catch (error) {
        pause = retry;
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
    const sentAt = this.clock.elapsedMs();
    const { current } = this;
    const beat = await this.store.beat(current.lease, this.node, !current.begun, this.around.journal);
    if (current !== this.current) return;
    if (!beat.alive) return this.lapse();
    current.begun = true;
    this.clock.hear(beat.now, sentAt);
    this.admitUntil = sentAt + this.options.admitMs;
    for (const ref of beat.changed) this.around.limitChanged(ref);
    if (current.inDoubt) await this.audit(current);
    await this.around.handBackIdle();
    await this.sweep(sentAt);
  }

  /**
   * After a database outage every lease has run out, and the first node to return must not take what the others are
   * about to renew: only a node that has renewed twice in a row sweeps.
   */
  private async sweep(sentAt: number): Promise<void> {
    const steady = sentAt - this.lastBeat < 3 * this.options.beatMs;
    this.lastBeat = sentAt;
    if (!steady) return;
    await this.around.readJournals();
    const swept = await this.store.sweep();
    if (swept > 0) this.logger.warn(`Took back what ${swept} dead node(s) held.`);
    for (const { node, journal, held } of await this.store.unread()) {
      if (this.told.has(node)) continue;
      this.told.add(node);
      this.logger.warn(
        `Node ${node} is dead. What it took out of ${held.length} limit(s) stays held until its journal was read. ` +
          `Start a node on its data folder (${journal}), or give it up with "journal:forget ${node}".`,
      );
    }
  }

  private async audit(desk: LeaseDesk): Promise<void> {
    await desk.audit(
      () =>
        new Map(
          [...this.book.all()].flatMap((slice) => (slice.window ? [[slice.window.id, slice.drawn]] : [])),
        ),
      this.around.settling,
      ({ windowId, amount }) => {
        const slice = this.book.ofWindow(windowId);
        if (slice !== undefined) slice.receive(amount);
        else void desk.giveBack(() => [{ windowId, amount }]).catch(() => undefined);
      },
    );
  }

  /** Another node swept this lease: everything under it belongs to others, and a new one begins from nothing. */
  private lapse(): void {
    if (this.stopped) return;
    this.logger.warn('The escrow lease ran out and was swept; beginning a new one.');
    this.admitUntil = -Infinity;
    this.current.ended = true;
    this.current = this.newDesk();
    this.book.lapse();
    this.wake();
  }
}
