import type { Dropped } from '../../protocol';

/** Callers choose the names of fields, so what is told and kept of them is bounded. */
const MOST_TOLD = 20;
const LONGEST_TOLD = 64;
const MOST_KEPT = 200;
const LONGEST_KEPT = 200;

const unsafe = /[^A-Za-z0-9_.-]/g;
const positions = /\.?\*(?=\.|$)/g;

/** What was left out, as callers are told: `seed`, `tools.web_search`. */
export function droppedNames(dropped: readonly Dropped[]): readonly string[] {
  const names = new Set<string>();
  for (const { loss, name, path } of dropped) {
    if (names.size === MOST_TOLD) break;
    if (loss !== 'dropped') continue;
    const plain = (name ?? path.replace(positions, '')).slice(0, LONGEST_TOLD).replace(unsafe, '_');
    names.add(plain === '' ? '_' : plain);
  }
  return [...names];
}

/** All that did not arrive as it was, and how often, for the record; null where everything did. */
export function droppedCounts(dropped: readonly Dropped[]): Record<string, number> | null {
  let counts: Record<string, number> | null = null;
  let named = 0;
  for (const { name, path, count } of dropped) {
    if (named++ === MOST_KEPT) return counts;
    counts ??= Object.create(null) as Record<string, number>;
    const key = (name ?? path).slice(0, LONGEST_KEPT);
    counts[key] = (counts[key] ?? 0) + count;
  }
  return counts;
}
