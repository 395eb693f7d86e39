import type { Reply } from './reply';

/** A reply worked out once: its bytes serve every equal request. */
export interface Prepared {
  readonly reply: Reply;
  readonly bytes: Buffer;
  readonly events: number;
  readonly model: string;
}

const mostEntries = 64;
const mostKeyLength = 64 * 1024;
const mostBytes = 256 * 1024;

/** Keeps the replies used last. */
export class ReplyCache {
  private readonly entries = new Map<string, Prepared>();

  get(key: string): Prepared | undefined {
    const found = this.entries.get(key);
    if (found !== undefined && this.entries.size === mostEntries) {
      this.entries.delete(key);
      this.entries.set(key, found);
    }
    return found;
  }

  set(key: string, prepared: Prepared): void {
    if (key.length > mostKeyLength || prepared.bytes.length > mostBytes) return;
    this.entries.set(key, prepared);
    if (this.entries.size <= mostEntries) return;
    const oldest = this.entries.keys().next().value;
    if (oldest !== undefined) this.entries.delete(oldest);
  }
}

export function prepare(reply: Reply, model: string): Prepared {
  const isStream = reply.kind === 'stream';
  return {
    reply,
    bytes: isStream ? Buffer.from(reply.frames.join('')) : Buffer.concat(reply.body),
    events: isStream ? reply.frames.length : 0,
    model,
  };
}
