import { Injectable } from '@nestjs/common';
import { type RecordFacts, settledRecordOf } from '../../audit';
import type { Hold } from '../../billing';
import { type GateHook, Gates } from '../gates/gate-hooks';
import { PASSED } from '../gates/read-verdict';

/** So many are at work at once for each gate, and so many wait; what comes beyond that is counted as skipped. */
const AT_ONCE = 16;
const MOST_WAITING = 1_000;

const SEEN = Object.freeze({ verdict: 'seen' });

/** Gates that see what was settled. No caller waits for them, and none changes anything. */
@Injectable()
export class SettledGates {
  private readonly lines: readonly Line[] | null;

  constructor({ settled }: Gates) {
    this.lines = settled?.map((hook) => new Line(hook)) ?? null;
  }

  /** Once the record is durable. */
  saw({ requestId, heldAt }: Hold, facts: RecordFacts, kept: Promise<void>): void {
    const { lines } = this;
    if (lines === null) return;
    const record = settledRecordOf({
      ...facts,
      requestId: requestId.toLowerCase(),
      createdAt: new Date(heldAt),
    });
    Object.freeze(record.tags);
    Object.freeze(record);
    const show = (): void => {
      for (const line of lines) line.add((hook, signal) => hook.gate.settled!(record, signal));
    };
    // A settlement that failed has told of it already.
    kept.then(show, () => undefined);
  }
}

type Look = (hook: GateHook, signal: AbortSignal) => unknown;

class Line {
  private readonly waiting: Look[] = [];
  private atWork = 0;

  constructor(private readonly hook: GateHook) {}

  add(look: Look): void {
    if (this.waiting.length >= MOST_WAITING) return this.hook.skipped();
    this.waiting.push(look);
    this.next();
  }

  private next(): void {
    while (this.atWork < AT_ONCE) {
      const look = this.waiting.shift();
      if (look === undefined) return;
      this.atWork += 1;
      void this.look(look).finally(() => {
        this.atWork -= 1;
        this.next();
      });
    }
  }

  /** It never rejects: even a closed gate stops nothing here. */
  private async look(look: Look): Promise<void> {
    const { hook } = this;
    try {
      await hook.ask<{ readonly verdict: string }>(
        (signal) => look(hook, signal),
        () => SEEN,
        PASSED,
        null,
      );
    } catch {
      // The failure was counted and logged where it happened.
    }
  }
}
