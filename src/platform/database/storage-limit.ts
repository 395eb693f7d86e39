/** Old rows are removed after an owner has added this share of the limit, as a sum per write would be too slow. */
const SHARE_BEFORE_TRIM = 1 / 16;
/** The rest absorbs the growth on about three nodes until the next check. */
const SHARE_AFTER_TRIM = 3 / 4;
const MAX_OWNERS = 10_000;

export interface StoredAmount {
  readonly bytes: number;
  readonly rows: number;
}

/** Keeps what each owner (an API key, a user) stores below a limit, by reporting when to remove old rows. */
export class StorageLimit {
  /** Amount added on this node since the owner's rows were last trimmed. */
  private readonly growth = new Map<number, StoredAmount>();

  constructor(private readonly max: StoredAmount) {}

  /** Counts a write before it happens. Returns the amount to trim the owner's older rows to first, or null. */
  add(ownerId: number, { bytes, rows }: StoredAmount): StoredAmount | null {
    const { max } = this;
    const growth = this.growth.get(ownerId);
    if (growth !== undefined) {
      const next = { bytes: growth.bytes + bytes, rows: growth.rows + rows };
      if (next.bytes <= max.bytes * SHARE_BEFORE_TRIM && next.rows <= max.rows * SHARE_BEFORE_TRIM) {
        this.growth.set(ownerId, next);
        return null;
      }
    }
    if (this.growth.size >= MAX_OWNERS) this.growth.clear();
    this.growth.set(ownerId, { bytes, rows });
    return {
      bytes: Math.max(0, Math.floor(max.bytes * SHARE_AFTER_TRIM) - bytes),
      rows: Math.max(0, Math.floor(max.rows * SHARE_AFTER_TRIM) - rows),
    };
  }
}
