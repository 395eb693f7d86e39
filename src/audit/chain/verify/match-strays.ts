import type { Lacking, Stray } from './block-entries';
import type { Findings } from './findings';

/**
 * Pairs missing entries with stray ones. The same digest elsewhere was moved; another digest with the same number or
 * place was edited. The rest was removed or inserted.
 */
export function matchStrays(
  strays: readonly Stray[],
  lackings: readonly Lacking[],
  findings: Findings,
): void {
  const missing = new Set(lackings);
  const pair = (left: readonly Stray[], keyOf: (one: Stray | Lacking) => string, tell: Tell): Stray[] => {
    const byKey = Map.groupBy(missing, keyOf);
    return left.filter((stray) => {
      const lacking = byKey.get(keyOf(stray))?.shift();
      if (lacking === undefined) return true;
      missing.delete(lacking);
      tell(stray, lacking);
      return false;
    });
  };
  const moved: Tell = ({ chain, block, line }, { entry, ...home }) =>
    findings.add({
      kind: 'moved',
      chain,
      block,
      line,
      entry,
      detail: `it belongs into block ${home.block} of ${chainName(home.chain)}`,
    });
  const edited: Tell = ({ line }, { chain, block, entry }) =>
    findings.add({ kind: 'edited', chain, block, line, entry });
  let left = pair(strays, ({ digest }) => digest, moved);
  left = pair(left, ({ chain, block, entry }) => `${chain} ${block} ${entry ?? ''}`, edited);
  left = pair(left, ({ chain, block, after }) => `${chain} ${block} ${after}`, edited);
  for (const { chain, block, line, entry } of left)
    findings.add({ kind: 'inserted', chain, block, line, ...(entry === null ? {} : { entry }) });
  for (const { chain, block, entry } of missing) findings.add({ kind: 'missing', chain, block, entry });
}

type Tell = (stray: Stray, lacking: Lacking) => void;

export const chainName = (chain: number): string =>
  chain === 0 ? "the platform's chain" : `the chain of organisation ${chain}`;
