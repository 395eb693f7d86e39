import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type Fault, type Listed, SwapList } from '../kernel';
import type { Caller } from './caller';
import { concerns } from './key-change';
import { KeyDirectory } from './key-directory';

export type KeyLost = (reason: Fault) => void;

interface OpenCall extends Listed {
  readonly caller: Caller;
  readonly lost: KeyLost;
}

const RETRY_MS = 500;

/** Calls that go on for a while, so that they end when their key does. */
@Injectable()
export class OpenCalls implements OnApplicationShutdown {
  private readonly open = new SwapList<OpenCall>();
  private readonly doubtful = new Set<number>();
  private readonly stopping = new AbortController();
  private checking = false;

  constructor(private readonly directory: KeyDirectory) {
    directory.onChange((change) => {
      for (const { caller } of this.open.all()) {
        if (concerns(change, caller)) this.doubtful.add(caller.keyId);
      }
      if (!this.checking && this.doubtful.size > 0) void this.check();
    });
  }

  onApplicationShutdown(): void {
    this.stopping.abort();
  }

  /** `lost` is called when the key may no longer go on; the function that comes back ends the watch. */
  track(caller: Caller, lost: KeyLost): () => void {
    const call = { caller, lost, index: -1 };
    this.open.add(call);
    return () => this.open.remove(call);
  }

  /** A key that cannot be looked up goes on until it can. */
  private async check(): Promise<void> {
    this.checking = true;
    for (const keyId of this.doubtful) {
      this.doubtful.delete(keyId);
      try {
        const reason = await this.directory.refusalOf(keyId);
        if (reason !== null) this.lose(keyId, reason);
      } catch {
        this.doubtful.add(keyId);
        if (!(await delay(RETRY_MS, true, { signal: this.stopping.signal }).catch(() => false))) break;
      }
    }
    this.checking = false;
  }

  private lose(keyId: number, reason: Fault): void {
    for (const { caller, lost } of this.open.all()) if (caller.keyId === keyId) lost(reason);
  }
}
