import type { PriceListEntry, ListedRates } from '../evidence';
import type { ParsedUsage } from './response-reader';

const DECIMALS = 9;
const MILLION = 1_000_000n;

/** Converts "2.51" dollars to 2,510,000,000 nano-dollars. */
export function nanoOf(dollars: string): bigint {
  const [whole = '0', fraction = ''] = dollars.split('.');
  if (!/^\d+$/.test(whole) || !/^\d{0,9}$/.test(fraction)) throw new Error(`${dollars} is no price`);
  return BigInt(whole + fraction.padEnd(DECIMALS, '0'));
}

/** Reads the price list as a customer would: the supplier's own line takes precedence over the model's. */
export function priceFor(list: readonly PriceListEntry[], model: string, supplier: string): PriceListEntry {
  const lines = list.filter((line) => line.model === model);
  const line =
    lines.find((own) => own.supplier === supplier) ?? lines.find((own) => own.supplier === undefined);
  if (line === undefined) throw new Error(`${model} at ${supplier} has no price`);
  return line;
}

/** Nano-dollars, rounded up once. */
export function costOf(usage: ParsedUsage, price: PriceListEntry): bigint {
  const inputTokens = usage.input + usage.cacheRead + usage.cacheWrite;
  let rates: ListedRates = price.rates;
  for (const { aboveInputTokens, ...dearer } of price.tiers ?? []) {
    if (inputTokens > aboveInputTokens) rates = { ...rates, ...dearer };
  }
  const { input, output, cacheRead = input, cacheWrite = input, reasoning = output } = rates;
  const millionths =
    BigInt(usage.input) * nanoOf(input) +
    BigInt(usage.cacheRead) * nanoOf(cacheRead) +
    BigInt(usage.cacheWrite) * nanoOf(cacheWrite) +
    BigInt(usage.output) * nanoOf(output) +
    BigInt(usage.reasoning) * nanoOf(reasoning) +
    nanoOf(price.perCall ?? '0') * MILLION;
  return (millionths + MILLION - 1n) / MILLION;
}
