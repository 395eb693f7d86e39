import { Injectable } from '@nestjs/common';
import { type RecordAttributes, settledRecordOf } from '../../audit';
import type { Hold } from '../../billing';
import { type GateHook, Gates } from '../gates/gate-hooks';
import { ABSTAINED } from '../gates/read-verdict';

/** Concurrent calls per gate, and the length of its queue; further records are counted as skipped. */
const MAX_CONCURRENT = 16;
const MAX_QUEUED = 1_000;

const SEEN_VERDICT = Object.freeze({ verdict: 'seen' });

/** Gates that see settled requests. No caller waits for them, and they change nothing. */
@Injectable()
export class SettledGates {
  private readonly queues: readonly SettledGateQueue[] | null;

  constructor({ settled }: Gates) {
    this.queues = settled?.map((hook) => new SettledGateQueue(hook)) ?? null;
  }

  show({ requestId, heldAt }: Hold, facts: RecordAttributes, durable: Promise<void>): void {
    const { queues: lines } = this;
    if (lines === null) return;
    const record = settledRecordOf({
      ...facts,
      requestId: requestId.toLowerCase(),
      createdAt: new Date(heldAt),
    });
    Object.freeze(record.tags);
    Object.freeze(record);
    const enqueue = (): void => {
      for (const queue of lines) queue.add((hook, signal) => hook.gate.settled!(record, signal));
    };
    // A failed settlement has already been reported.
    durable.then(enqueue, () => undefined);
  }
}

type GateCall = (hook: GateHook, signal: AbortSignal) => unknown;

class SettledGateQueue {
  private readonly queued: GateCall[] = [];
  private running = 0;

  constructor(private readonly hook: GateHook) {}

  add(call: GateCall): void {
    if (this.queued.length >= MAX_QUEUED) return this.hook.countSkipped();
    this.queued.push(call);
    this.runNext();
  }

  private runNext(): void {
    while (this.running < MAX_CONCURRENT) {
      const call = this.queued.shift();
      if (call === undefined) return;
      this.running += 1;
      void this.call(call).finally(() => {
        this.running -= 1;
        this.runNext();
      });
    }
  }

  /** Never rejects: even a gate that fails closed stops nothing here. */
  private async call(call: GateCall): Promise<void> {
    const { hook } = this;
    try {
      await hook.run<{ readonly verdict: string }>(
        (signal) => call(hook, signal),
        () => SEEN_VERDICT,
        ABSTAINED,
        null,
      );
    } catch {
      // The failure has been counted and logged by the hook.
    }
  }
}
