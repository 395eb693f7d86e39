import { type Listed, monotonicMs, Roster } from '../../../kernel';

/** Something to be looked at when its time has come, if it has not left by then. */
export interface Expected extends Listed {
  dueMs: number;
  look(): void;
}

/**
 * One timer for all that are expected. They come and go by the thousand a second, long before their time: a timer for
 * each would take the engine as long as a good part of what they do meanwhile.
 */
export class Lookout {
  private readonly expected = new Roster<Expected>();
  private timer: NodeJS.Timeout | undefined;
  private nextMs = Infinity;

  /** Looks at it in so many milliseconds; one that is here already, then and not before. */
  expect(one: Expected, milliseconds: number): void {
    const isNew = one.dueMs === Infinity;
    one.dueMs = monotonicMs() + milliseconds;
    if (isNew) this.expected.add(one);
    this.beAwakeAt(one.dueMs);
  }

  forget(one: Expected): void {
    if (one.dueMs === Infinity) return;
    one.dueMs = Infinity;
    this.expected.remove(one);
  }

  private beAwakeAt(dueMs: number): void {
    if (dueMs >= this.nextMs) return;
    clearTimeout(this.timer);
    this.nextMs = dueMs;
    // Whoever is waited for has a connection, which keeps the process alive; those who have left do not.
    this.timer = setTimeout(() => this.lookAround(), dueMs - monotonicMs()).unref();
  }

  private lookAround(): void {
    this.nextMs = Infinity;
    // A timer may be a fraction of a millisecond early.
    const now = monotonicMs() + 1;
    const due: Expected[] = [];
    for (const one of this.expected.all()) {
      if (one.dueMs > now) this.beAwakeAt(one.dueMs);
      else due.push(one);
    }
    for (const one of due) {
      // The one before may have sent it away.
      if (one.dueMs > now) continue;
      this.forget(one);
      one.look();
    }
  }
}
