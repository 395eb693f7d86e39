import { hash } from 'node:crypto';
import type { ProviderView } from '../../catalogue';
import { laneMark, type ReasoningPredicate } from '../../protocol';

/** About 12 MB at most. */
const MAX_SEALS = 100_000;
const NO_OWNER = '';

const marks = new WeakMap<ProviderView, string>();

/** Identifies the account that can read what it signed: a provider at its address. */
export function markOf(provider: ProviderView): string {
  let mark = marks.get(provider);
  if (mark === undefined) {
    mark = laneMark(`${provider.name}\n${provider.baseUrl}`);
    marks.set(provider, mark);
  }
  return mark;
}

export interface ReasoningReader {
  readonly reads: ReasoningPredicate;
  readonly withoutReasoning: boolean;
  readonly sent: readonly string[];
}

/**
 * Remembers which account signed or encrypted reasoning that was passed through, so that no other account gets it.
 * Known to this node only: unknown reasoning is sent to a lane, and left out if the lane refuses it.
 */
export class ReasoningOwners {
  private readonly owners = new Map<string, string>();

  remember(seals: readonly string[], provider: ProviderView): void {
    this.setOwner(seals, markOf(provider));
  }

  disown(seals: readonly string[]): void {
    this.setOwner(seals, NO_OWNER);
  }

  readerFor(provider: ProviderView, withoutReasoning: boolean): ReasoningReader {
    const own = markOf(provider);
    const sent: string[] = [];
    const reads: ReasoningPredicate = (signature, lane) => {
      const isOwn = !withoutReasoning && (this.owners.get(keyOf(signature)) ?? lane ?? own) === own;
      if (isOwn) sent.push(signature);
      return isOwn;
    };
    return { reads, withoutReasoning, sent };
  }

  private setOwner(seals: readonly string[], owner: string): void {
    for (const seal of seals) {
      const key = keyOf(seal);
      this.owners.delete(key);
      this.owners.set(key, owner);
      if (this.owners.size <= MAX_SEALS) continue;
      const oldest = this.owners.keys().next();
      if (!oldest.done) this.owners.delete(oldest.value);
    }
  }
}

const keyOf = (seal: string): string => hash('sha256', seal, 'base64').slice(0, 22);
