import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Fault } from '../kernel';
import type { Caller } from './caller';
import { concerns } from './key-change';
import { KeyDirectory } from './key-directory';

export type KeyLost = (reason: Fault) => void;

interface OpenCall {
  readonly caller: Caller;
  readonly lost: KeyLost;
}

const RETRY_MS = 500;

/** Calls that go on for a while, so that they end when their key does. */
@Injectable()
export class OpenCalls implements OnApplicationShutdown {
  private readonly open = new Map<number, Set<OpenCall>>();
  private readonly doubtful = new Set<number>();
  private readonly stopping = new AbortController();
  private checking = false;

  constructor(private readonly directory: KeyDirectory) {
    directory.onChange((change) => {
      for (const [keyId, calls] of this.open) {
        for (const { caller } of calls) if (concerns(change, caller)) this.doubtful.add(keyId);
      }
      if (!this.checking && this.doubtful.size > 0) void this.check();
    });
  }

  onApplicationShutdown(): void {
    this.stopping.abort();
  }

  /** `lost` is called when the key may no longer go on; the function that comes back ends the watch. */
  track(caller: Caller, lost: KeyLost): () => void {
    const call = { caller, lost };
    const calls = this.open.get(caller.keyId) ?? new Set();
    this.open.set(caller.keyId, calls.add(call));
    return () => {
      calls.delete(call);
      if (calls.size === 0 && this.open.get(caller.keyId) === calls) this.open.delete(caller.keyId);
    };
  }

  /** A key that cannot be looked up goes on until it can. */
  private async check(): Promise<void> {
    this.checking = true;
    for (const keyId of this.doubtful) {
      this.doubtful.delete(keyId);
      try {
        const reason = await this.directory.refusalOf(keyId);
        if (reason !== null) for (const { lost } of [...(this.open.get(keyId) ?? [])]) lost(reason);
      } catch {
        this.doubtful.add(keyId);
        if (!(await delay(RETRY_MS, true, { signal: this.stopping.signal }).catch(() => false))) break;
      }
    }
    this.checking = false;
  }
}
