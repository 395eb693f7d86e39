import type { PriceListEntry } from './evidence';

/** Odd figures on purpose: wrong rounding shows. */
const openai: Omit<PriceListEntry, 'model'> = {
  rates: { input: '2.51', output: '10.03', cacheRead: '1.257', cacheWrite: '3.019', reasoning: '11.7' },
  perCall: '0.000000123',
  tiers: [{ aboveInputTokens: 600, input: '5.02', output: '15.07', cacheRead: '2.5140' }],
};
const plain: Omit<PriceListEntry, 'model'> = {
  rates: { input: '0.153', output: '0.607', cacheRead: '0.0751' },
};
const messages: Omit<PriceListEntry, 'model'> = {
  rates: { input: '3.01', output: '15.13', cacheRead: '0.301', cacheWrite: '3.7625' },
  tiers: [{ aboveInputTokens: 900, input: '6.02', output: '22.51', cacheWrite: '7.525' }],
};

/** The supplier of each style, and the outcomes of the models it serves. */
export const styles = { openai: 'open-a', plain: 'plain', messages: 'claude-a' } as const;
export type StyleName = keyof typeof styles;

export const outcomes = ['good', 'silent', 'twice', 'cut', 'left', 'unfinished'] as const;
export type SupplierOutcome = (typeof outcomes)[number];

const byStyle = { openai, plain, messages };

/** A model per supplier style and outcome, and three whose first supplier often fails. */
export const priceList: readonly PriceListEntry[] = [
  ...(Object.keys(styles) as StyleName[]).flatMap((style) =>
    outcomes.map((outcome) => ({ model: `${style}-${outcome}`, ...byStyle[style] })),
  ),
  { model: 'backed', ...openai },
  { model: 'backed', supplier: 'open-b', rates: { input: '1.97', output: '7.001' }, perCall: '0.0000005' },
  { model: 'broken', ...openai },
  { model: 'broken', supplier: 'open-c', rates: { input: '1.3', output: '6.5', cacheRead: '0.13' } },
  { model: 'mixed', ...plain },
  { model: 'mixed', supplier: 'claude-b', ...messages },
  {
    model: 'mixed',
    supplier: 'open-b',
    rates: { input: '2.2', output: '8.8', cacheRead: '0', reasoning: '9.999999999' },
  },
];
