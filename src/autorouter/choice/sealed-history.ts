import type { ModelView } from '../../catalogue';
import type { CanonicalRequest, DialectName } from '../../protocol';

/**
 * A seal says which models can read a conversation: all, those of its dialect, or the family that wrote it.
 * Signed reasoning and encrypted content open for no other family.
 */
export type Seal = 'open' | 'dialect' | 'family';

export function sealOf({ turns }: Pick<CanonicalRequest, 'turns'>): Seal {
  let seal: Seal = 'open';
  for (const turn of turns) {
    const blocks = turn.role === 'tool' ? turn.results.flatMap((result) => result.blocks) : turn.blocks;
    for (const block of blocks) {
      // Content that was sealed here is left out wherever it cannot be read.
      if (block.type === 'reasoning' && block.signature !== undefined && block.lane === undefined)
        return 'family';
      if (block.type !== 'opaque' || !block.essential || block.text !== undefined) continue;
      if (turn.role === 'assistant') return 'family';
      seal = 'dialect';
    }
  }
  return seal;
}

/** The names of models tell their vendors, independent of supplier and owner. */
const vendors: readonly (readonly [RegExp, string])[] = [
  [/claude/i, 'anthropic'],
  [/(?:^|[^a-z\d])(?:gpt|chatgpt|codex|o\d)/i, 'openai'],
];

/** Models of one family read one another's reasoning. */
export function familyOf({ name, ownedBy, lanes }: Pick<ModelView, 'name' | 'ownedBy' | 'lanes'>): string {
  const names = [name, ...lanes.map(({ upstreamModel }) => upstreamModel)].join(' ');
  return vendors.find(([pattern]) => pattern.test(names))?.[1] ?? ownedBy.toLowerCase();
}

/** The home family of each dialect: the likely author of a sealed part when no record names it. */
const homes: Partial<Readonly<Record<DialectName, string>>> = { messages: 'anthropic', responses: 'openai' };

/**
 * The family that wrote the sealed parts: that of known authors, else the dialect's home, else the only one there is.
 * Null where it is unknown: a wrong guess would send the parts to a model that refuses or ignores them.
 */
export function writingFamily(
  dialect: DialectName,
  writers: readonly ModelView[],
  candidates: readonly ModelView[],
): string | null {
  const known = new Set(writers.map(familyOf));
  if (known.size > 0) return known.size === 1 ? ([...known][0] ?? null) : null;
  const there = new Set(candidates.map(familyOf));
  const home = homes[dialect];
  if (home !== undefined && there.has(home)) return home;
  return there.size === 1 ? ([...there][0] ?? null) : null;
}
