import { hash } from 'node:crypto';
import type { ProviderView } from '../../catalogue';
import { laneMark, type ReadsReasoning } from '../../protocol';

/** They take about 12 MB at most. */
const MOST_SEALS = 100_000;
const NOBODY = '';

const marks = new WeakMap<ProviderView, string>();

/** The mark names the account that can read what it signed: a provider at its address. */
export function markOf(provider: ProviderView): string {
  let mark = marks.get(provider);
  if (mark === undefined) {
    mark = laneMark(`${provider.name}\n${provider.baseUrl}`);
    marks.set(provider, mark);
  }
  return mark;
}

/** One lane is shown the reasoning in a conversation that this reader lets through. */
export interface ReasoningReader {
  readonly reads: ReadsReasoning;
  readonly withoutReasoning: boolean;
  /** These parts were shown to it. */
  readonly shown: readonly string[];
}

/**
 * Remembers which account signed or encrypted reasoning that was passed on unchanged, so that no other account gets it.
 * Only this node knows; what no node knows is shown to a lane, and left out once the lane refuses it.
 */
export class ReasoningOwners {
  private readonly owners = new Map<string, string>();

  remember(seals: readonly string[], provider: ProviderView): void {
    this.note(seals, markOf(provider));
  }

  /** A lane took the request without these. */
  disown(seals: readonly string[]): void {
    this.note(seals, NOBODY);
  }

  readerFor(provider: ProviderView, withoutReasoning: boolean): ReasoningReader {
    const own = markOf(provider);
    const shown: string[] = [];
    const reads: ReadsReasoning = (signature, lane) => {
      const isOwn = !withoutReasoning && (this.owners.get(keyOf(signature)) ?? lane ?? own) === own;
      if (isOwn) shown.push(signature);
      return isOwn;
    };
    return { reads, withoutReasoning, shown };
  }

  private note(seals: readonly string[], owner: string): void {
    for (const seal of seals) {
      const key = keyOf(seal);
      this.owners.delete(key);
      this.owners.set(key, owner);
      if (this.owners.size <= MOST_SEALS) continue;
      const oldest = this.owners.keys().next();
      if (!oldest.done) this.owners.delete(oldest.value);
    }
  }
}

const keyOf = (seal: string): string => hash('sha256', seal, 'base64').slice(0, 22);
