import type { ModelView } from '../../catalogue';
import type { CanonicalRequest, DialectName } from '../../protocol';

/**
 * Which models can read a conversation: all, those of its dialect, or the family that wrote it. Signed reasoning and
 * encrypted content can be read by no other family.
 */
export type Seal = 'open' | 'dialect' | 'family';

export function sealOf({ turns }: Pick<CanonicalRequest, 'turns'>): Seal {
  let seal: Seal = 'open';
  for (const turn of turns) {
    const blocks = turn.role === 'tool' ? turn.results.flatMap((result) => result.blocks) : turn.blocks;
    for (const block of blocks) {
      // Content sealed by this gateway is dropped wherever it cannot be read.
      if (block.type === 'reasoning' && block.signature !== undefined && block.lane === undefined)
        return 'family';
      if (block.type !== 'opaque' || !block.essential || block.text !== undefined) continue;
      if (turn.role === 'assistant') return 'family';
      seal = 'dialect';
    }
  }
  return seal;
}

/** Model vendors by patterns of model names, independent of supplier and owner. */
const vendors: readonly (readonly [RegExp, string])[] = [
  [/claude/i, 'anthropic'],
  [/(?:^|[^a-z\d])(?:gpt|chatgpt|codex|o\d)/i, 'openai'],
];

/** Models of one family can read one another's reasoning. */
export function familyOf({ name, ownedBy, lanes }: Pick<ModelView, 'name' | 'ownedBy' | 'lanes'>): string {
  const names = [name, ...lanes.map(({ upstreamModel }) => upstreamModel)].join(' ');
  return vendors.find(([pattern]) => pattern.test(names))?.[1] ?? ownedBy.toLowerCase();
}

/** The home family of each dialect: the likely author of a sealed part if no record names it. */
const homeFamilies: Partial<Readonly<Record<DialectName, string>>> = {
  messages: 'anthropic',
  responses: 'openai',
};

/**
 * The family that wrote the sealed parts: that of the known authors, else the dialect's home family, else the only one
 * available. Null if unknown: a wrong guess would send the parts to a model that refuses or ignores them.
 */
export function writingFamily(
  dialect: DialectName,
  writers: readonly ModelView[],
  candidates: readonly ModelView[],
): string | null {
  const writerFamilies = new Set(writers.map(familyOf));
  if (writerFamilies.size > 0) return writerFamilies.size === 1 ? ([...writerFamilies][0] ?? null) : null;
  const candidateFamilies = new Set(candidates.map(familyOf));
  const home = homeFamilies[dialect];
  if (home !== undefined && candidateFamilies.has(home)) return home;
  return candidateFamilies.size === 1 ? ([...candidateFamilies][0] ?? null) : null;
}
