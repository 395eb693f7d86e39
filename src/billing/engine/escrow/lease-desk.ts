import type { Nano } from '../../../kernel';
import { type Ask, type Drawn, LeaseGone, type MoneyStore, type Portion } from '../store/money-store';

/** What the settlement of this node is doing. */
export interface Activity {
  readonly busy: boolean;
  readonly commits: number;
}

const answerDeadlineMs = 10_000;

/**
 * The one counter at which this node draws, hands back and audits: one operation at a time, numbered, so that an
 * operation whose answer was lost can neither be counted twice nor take effect after it was given up.
 */
export class LeaseDesk {
  private turn: Promise<unknown> = Promise.resolve();
  private operation = 0;
  private doubtful = false;
  /** The lease exists in the database: before that there is nothing to draw under. */
  begun = false;
  /** The lease was swept: an answer that was given before and comes now is about what others have by now. */
  ended = false;

  constructor(
    private readonly store: MoneyStore,
    readonly lease: string,
    private readonly onGone: () => void,
  ) {}

  /** Whether an answer was lost, so that the database may hold more for this node than the node knows. */
  get inDoubt(): boolean {
    return this.doubtful;
  }

  /** `hear` runs before anything else may be drawn or handed back. */
  draw(asks: readonly Ask[], hear: (drawn: readonly Drawn[]) => void): Promise<void> {
    return this.next(async (operation) =>
      hear(await this.answer(this.store.draw(this.lease, operation, asks))),
    );
  }

  giveBack(collect: () => readonly Portion[]): Promise<void> {
    return this.next(async (operation) => {
      const portions = collect();
      if (portions.length > 0) await this.answer(this.store.giveBack(this.lease, operation, portions));
    });
  }

  /**
   * Finds what the database holds beyond what this node knows of. A settlement that commits meanwhile makes the
   * surplus look smaller, never larger; then the doubt stays until the next time.
   */
  audit(
    known: () => ReadonlyMap<string, Nano>,
    settling: () => Activity,
    adopt: (surplus: Portion) => void,
  ): Promise<void> {
    return this.next(async (operation) => {
      const expected = known();
      const before = settling();
      const slices = await this.answer(this.store.audit(this.lease, operation));
      this.doubtful = before.busy || settling().commits !== before.commits;
      for (const { windowId, amount } of slices) {
        const surplus = amount - (expected.get(windowId) ?? 0n);
        if (surplus > 0n) adopt({ windowId, amount: surplus });
      }
    });
  }

  private async answer<T>(given: Promise<T>): Promise<T> {
    const answer = await inTime(given);
    if (this.ended) throw new LeaseGone();
    return answer;
  }

  private next(work: (operation: number) => Promise<void>): Promise<void> {
    const mine = this.turn.then(async () => {
      this.operation += 1;
      try {
        await work(this.operation);
      } catch (error) {
        if (error instanceof LeaseGone) this.onGone();
        else this.doubtful = true;
        throw error;
      }
    });
    this.turn = mine.catch(() => undefined);
    return mine;
  }
}

/** A connection that hangs must not hold up the next operation; the answer, should it still come, is not heard. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the database does not answer')), answerDeadlineMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
