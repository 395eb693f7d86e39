export class LocalSlots {
  private readonly open = new Map<string, Set<string>>();

  count(key: string): number {
    return this.open.get(key)?.size ?? 0;
  }

  has(key: string, id: string): boolean {
    return this.open.get(key)?.has(id) === true;
  }

  add(key: string, id: string): void {
    const ids = this.open.get(key);
    if (ids === undefined) this.open.set(key, new Set([id]));
    else ids.add(id);
  }

  remove(key: string, id: string): void {
    const ids = this.open.get(key);
    ids?.delete(id);
    if (ids?.size === 0) this.open.delete(key);
  }

  *all(): Iterable<readonly [key: string, ids: readonly string[]]> {
    for (const [key, ids] of this.open) yield [key, [...ids]];
  }
}
