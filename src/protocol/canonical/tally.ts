import type { Dropped } from '#extension';
import { type DialectName, type JsonObject, type Opaque } from './request';
import { unsupported } from './fields';

export type { Dropped };

type Loss = Dropped['loss'];

const MAX_ENTRIES = 200;
const position = /(^|\.)\d+(?=\.|$)/g;

/** Counts what a conversion loses, with one entry per field and reason. */
export class Tally {
  private readonly entries = new Map<string, { -readonly [name in keyof Dropped]: Dropped[name] }>();

  dropped(at: string, reason: string, name?: string): void {
    this.add('dropped', at, reason, name);
  }

  approximated(at: string, reason: string, name?: string): void {
    this.add('approximated', at, reason, name);
  }

  /**
   * Copies fields that the target knows into the body, counts the others as dropped, and refuses if one is essential.
   * `region` is fulfilled by the choice of the lane.
   */
  carry(target: DialectName, body: JsonObject, opaque: readonly Opaque[] | undefined): void {
    for (const { dialects, field, at, value, essential } of opaque ?? []) {
      if (dialects.includes(target) && field !== '__proto__') body[field] = value;
      else if (essential) throw unsupported(at, `This model cannot be asked for ${at}.`, essential.details);
      else this.add(at === 'region' ? 'fulfilled' : 'dropped', at, 'unknown to the target');
    }
  }

  list(): Dropped[] {
    return [...this.entries.values()];
  }

  private add(loss: Loss, at: string, reason: string, name?: string): void {
    const path = at.replace(position, '$1*');
    const key = `${loss} ${path} ${reason}`;
    const entry = this.entries.get(key);
    if (entry) entry.count += 1;
    else if (this.entries.size < MAX_ENTRIES)
      this.entries.set(key, { loss, path, reason, at, count: 1, ...(name !== undefined && { name }) });
    else this.overflow();
  }

  /** Names come from the caller, so their number is limited; further ones are counted together. */
  private overflow(): void {
    const key = 'more';
    const entry = this.entries.get(key);
    if (entry) entry.count += 1;
    else this.entries.set(key, { loss: 'dropped', path: '*', reason: 'further fields', at: '', count: 1 });
  }
}
