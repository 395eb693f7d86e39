import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type Fault, type SwapListMember, SwapList } from '../kernel';
import type { Caller } from './caller';
import { isAffectedBy } from './key-change';
import { KeyDirectory } from './key-directory';

export type KeyLossListener = (reason: Fault) => void;

interface OpenCall extends SwapListMember {
  readonly caller: Caller;
  readonly lost: KeyLossListener;
}

const RETRY_MS = 500;

/** Long-running calls, which end when their key does. */
@Injectable()
export class OpenCalls implements OnApplicationShutdown {
  private readonly open = new SwapList<OpenCall>();
  private readonly keysToCheck = new Set<number>();
  private readonly stopping = new AbortController();
  private isChecking = false;

  constructor(private readonly directory: KeyDirectory) {
    directory.onChange((change) => {
      for (const { caller } of this.open.all()) {
        if (isAffectedBy(change, caller)) this.keysToCheck.add(caller.keyId);
      }
      if (!this.isChecking && this.keysToCheck.size > 0) void this.check();
    });
  }

  onApplicationShutdown(): void {
    this.stopping.abort();
  }

  /** Calls `onLost` when the key is no longer allowed to continue. Returns a function that stops tracking. */
  track(caller: Caller, onLost: KeyLossListener): () => void {
    const call = { caller, lost: onLost, index: -1 };
    this.open.add(call);
    return () => this.open.remove(call);
  }

  /** A key that cannot be looked up continues until it can. */
  private async check(): Promise<void> {
    this.isChecking = true;
    for (const keyId of this.keysToCheck) {
      this.keysToCheck.delete(keyId);
      try {
        const reason = await this.directory.refusalOf(keyId);
        if (reason !== null) this.endCalls(keyId, reason);
      } catch {
        this.keysToCheck.add(keyId);
        if (!(await delay(RETRY_MS, true, { signal: this.stopping.signal }).catch(() => false))) break;
      }
    }
    this.isChecking = false;
  }

  private endCalls(keyId: number, reason: Fault): void {
    for (const { caller, lost } of this.open.all()) if (caller.keyId === keyId) lost(reason);
  }
}
