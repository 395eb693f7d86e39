import type { ListedPrice, ListedRates } from '../evidence';
import type { Reported } from './reading';

const DECIMALS = 9;
const MILLION = 1_000_000n;

/** "2.51" dollars → 2,510,000,000 billionths. */
export function nanoOf(dollars: string): bigint {
  const [whole = '0', fraction = ''] = dollars.split('.');
  if (!/^\d+$/.test(whole) || !/^\d{0,9}$/.test(fraction)) throw new Error(`${dollars} is no price`);
  return BigInt(whole + fraction.padEnd(DECIMALS, '0'));
}

/** The price list, read as a customer would: the supplier's own line before the model's. */
export function priceFor(list: readonly ListedPrice[], model: string, supplier: string): ListedPrice {
  const lines = list.filter((line) => line.model === model);
  const line =
    lines.find((own) => own.supplier === supplier) ?? lines.find((own) => own.supplier === undefined);
  if (line === undefined) throw new Error(`${model} at ${supplier} has no price`);
  return line;
}

/** Billionths of a dollar, rounded up once. */
export function costOf(used: Reported, price: ListedPrice): bigint {
  const entered = used.input + used.cacheRead + used.cacheWrite;
  let rates: ListedRates = price.rates;
  for (const { aboveInputTokens, ...dearer } of price.tiers ?? []) {
    if (entered > aboveInputTokens) rates = { ...rates, ...dearer };
  }
  const { input, output, cacheRead = input, cacheWrite = input, reasoning = output } = rates;
  const millionths =
    BigInt(used.input) * nanoOf(input) +
    BigInt(used.cacheRead) * nanoOf(cacheRead) +
    BigInt(used.cacheWrite) * nanoOf(cacheWrite) +
    BigInt(used.output) * nanoOf(output) +
    BigInt(used.reasoning) * nanoOf(reasoning) +
    nanoOf(price.perCall ?? '0') * MILLION;
  return (millionths + MILLION - 1n) / MILLION;
}
