import type { MissingEntry, StrayLine } from './block-entries';
import type { Findings } from './findings';

/**
 * Pairs missing entries with stray lines. An equal digest elsewhere was moved, another digest with the same number or
 * position was edited; the rest was removed or inserted.
 */
export function matchStrays(
  strays: readonly StrayLine[],
  missingEntries: readonly MissingEntry[],
  findings: Findings,
): void {
  const missing = new Set(missingEntries);
  const pair = (
    remaining: readonly StrayLine[],
    keyOf: (one: StrayLine | MissingEntry) => string,
    report: ReportPair,
  ): StrayLine[] => {
    const byKey = Map.groupBy(missing, keyOf);
    return remaining.filter((stray) => {
      const missingEntry = byKey.get(keyOf(stray))?.shift();
      if (missingEntry === undefined) return true;
      missing.delete(missingEntry);
      report(stray, missingEntry);
      return false;
    });
  };
  const reportMoved: ReportPair = ({ chain, block, line }, { entry, ...target }) =>
    findings.add({
      kind: 'moved',
      chain,
      block,
      line,
      entry,
      detail: `it belongs into block ${target.block} of ${chainName(target.chain)}`,
    });
  const reportEdited: ReportPair = ({ line }, { chain, block, entry }) =>
    findings.add({ kind: 'edited', chain, block, line, entry });
  let remaining = pair(strays, ({ digest }) => digest, reportMoved);
  remaining = pair(remaining, ({ chain, block, entry }) => `${chain} ${block} ${entry ?? ''}`, reportEdited);
  remaining = pair(remaining, ({ chain, block, after }) => `${chain} ${block} ${after}`, reportEdited);
  for (const { chain, block, line, entry } of remaining)
    findings.add({ kind: 'inserted', chain, block, line, ...(entry === null ? {} : { entry }) });
  for (const { chain, block, entry } of missing) findings.add({ kind: 'missing', chain, block, entry });
}

type ReportPair = (stray: StrayLine, missingEntry: MissingEntry) => void;

export const chainName = (chain: number): string =>
  chain === 0 ? "the platform's chain" : `the chain of organisation ${chain}`;
