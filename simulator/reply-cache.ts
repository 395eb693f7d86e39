import type { Reply } from './reply';

/** A rendered reply; its bytes serve every equal request. */
export interface PreparedReply {
  readonly reply: Reply;
  readonly bytes: Buffer;
  readonly events: number;
  readonly model: string;
}

const MAX_ENTRIES = 64;
const MAX_KEY_LENGTH = 64 * 1024;
const MAX_BYTES = 256 * 1024;

/** Least-recently-used cache of replies. */
export class ReplyCache {
  private readonly entries = new Map<string, PreparedReply>();

  get(key: string): PreparedReply | undefined {
    const cachedReply = this.entries.get(key);
    if (cachedReply !== undefined && this.entries.size === MAX_ENTRIES) {
      this.entries.delete(key);
      this.entries.set(key, cachedReply);
    }
    return cachedReply;
  }

  set(key: string, prepared: PreparedReply): void {
    if (key.length > MAX_KEY_LENGTH || prepared.bytes.length > MAX_BYTES) return;
    this.entries.set(key, prepared);
    if (this.entries.size <= MAX_ENTRIES) return;
    const oldest = this.entries.keys().next().value;
    if (oldest !== undefined) this.entries.delete(oldest);
  }
}

export function prepare(reply: Reply, model: string): PreparedReply {
  const isStream = reply.kind === 'stream';
  return {
    reply,
    bytes: isStream ? Buffer.from(reply.frames.join('')) : Buffer.concat(reply.body),
    events: isStream ? reply.frames.length : 0,
    model,
  };
}
