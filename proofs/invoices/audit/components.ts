/**
 * Recomputes every component from the bytes exchanged with suppliers and the price list, and again from the audit of
 * the key. Shares no code with the service.
 */
import { readFileSync } from 'node:fs';
import { billOf, ceiling, type BilledCounts, decimal, type PriceObject } from './bill';
import { readBooks } from './books';
import { check } from './check';
import { linesOf, wrongRequests } from './files';
import { asJson, type Json } from './response-reader';
import { billedBy, type AuditedExchange } from './vendor-rules';

export interface ComponentCall {
  readonly number: number;
  readonly name: string;
  readonly status: number;
  readonly requestId: string;
  readonly toldUsd: string | null;
  /** Text of the rejection. */
  readonly text: string;
}

export interface ComponentEvidence {
  readonly priceFile: string;
  readonly databaseUrl: string;
  readonly paidIn: string;
  readonly calls: readonly ComponentCall[];
  readonly exchanges: readonly AuditedExchange[];
  readonly audit: readonly Json[];
  readonly prices: Json;
  /** Audit of the key and request log as the files that a payer downloads. */
  readonly files: Readonly<Record<string, string>>;
}

interface ComponentSum {
  readonly call: ComponentCall;
  readonly provider: string;
  readonly counts: BilledCounts;
  readonly nano: bigint;
}

const numbersIn = (value: unknown): Record<string, number> => asJson(value) as Record<string, number>;

/** The price of the lane takes precedence over that of the model. */
function priceOf(file: Json, { provider, request, path }: AuditedExchange, model: string): PriceObject {
  const listedModel = asJson(asJson(file['models'])[model]);
  const lanes = listedModel['lanes'] as readonly Json[] | undefined;
  const ownPrice = lanes?.find((lane) => lane['provider'] === provider)?.['price'];
  if (listedModel['price'] === undefined) throw new Error(`${model} has no price for ${path}: ${request}`);
  return asJson(ownPrice ?? listedModel['price']);
}

/** Counts that the audit of a key reports, named as in the price list. */
function countsOfRow(row: Json): BilledCounts {
  const count = (name: string): number => Number(row[name]);
  const modes = ['service_tier', 'speed', 'inference_geo'].flatMap((name) =>
    typeof row[name] === 'string' ? [[name, row[name]] as const] : [],
  );
  return {
    tokens: {
      input: count('uncached_input_tokens'),
      cache_read: count('cache_read_tokens'),
      cache_write: count('cache_write_5m_tokens'),
      cache_write_long: count('cache_write_1h_tokens'),
      audio_input: count('audio_input_tokens'),
      image: count('image_input_tokens'),
      output: count('visible_output_tokens'),
      reasoning: count('reasoning_tokens'),
      audio_output: count('audio_output_tokens'),
      image_output: count('image_output_tokens'),
    },
    calls: count('calls'),
    milliseconds: count('audio_milliseconds'),
    uses: numbersIn(row['tool_uses']),
    images: numbersIn(row['images']),
    modes: Object.fromEntries(modes),
  };
}

async function main(): Promise<void> {
  const evidence = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as ComponentEvidence;
  const file = asJson(JSON.parse(readFileSync(evidence.priceFile, 'utf8')));
  const { records, spentByOwner: spent, escrowed, entries } = await readBooks(evidence.databaseUrl);
  const recordOf = new Map(records.map((record) => [record.request_id, record]));
  const rowOf = new Map(evidence.audit.map((row) => [row['request_id'], row]));
  const exchanges = Map.groupBy(evidence.exchanges, ({ number }) => number);
  const sums = evidence.calls
    .filter(({ status }) => status === 200)
    .flatMap((call): ComponentSum[] => {
      const exchange = exchanges.get(call.number)?.at(-1);
      const model = recordOf.get(call.requestId)?.model;
      if (exchange === undefined || model === undefined) return [];
      const counts = billedBy(exchange);
      const nano = billOf(counts, priceOf(file, exchange, model));
      return [{ call, provider: exchange.provider, counts, nano }];
    });
  const differing = (costOf: (sum: ComponentSum) => bigint | null): string[] =>
    sums.flatMap((sum) => {
      const cost = costOf(sum);
      if (cost === sum.nano) return [];
      return [`${sum.call.number} ${sum.call.name}: ${cost}, not ${sum.nano}`];
    });
  const answeredCount = evidence.calls.filter(({ status }) => status === 200).length;
  check('each of these calls has one record and one answer of a supplier', answeredCount, [
    ...(sums.length === answeredCount && records.length === answeredCount
      ? []
      : [`${sums.length}, ${records.length} records`]),
  ]);
  check(
    'its record costs what its supplier’s bytes and the price list come to, to the nano-dollar',
    sums.length,
    differing(({ call }) => BigInt(recordOf.get(call.requestId)?.cost_nano ?? -1)),
  );
  check(
    'so says `x-svc-cost-usd`, behind streams in a trailer',
    sums.length,
    differing(({ call: { toldUsd } }) => (toldUsd === null ? null : ceiling(decimal(toldUsd)))),
  );
  const row = ({ call }: ComponentSum): Json => asJson(rowOf.get(call.requestId));
  check(
    'so says the `cost` in the audit of the key',
    sums.length,
    differing((sum) => ceiling(decimal(row(sum)['cost']))),
  );
  check(
    'so does the payer’s own sum of the fields of the audit and the prices beside it',
    sums.length,
    differing((sum) => billOf(countsOfRow(row(sum)), asJson(evidence.prices[String(row(sum)['price_id'])]))),
  );
  for (const [name, file] of Object.entries(evidence.files)) {
    const lines = linesOf(file);
    check(`so does each line of ${name}, by itself`, lines.length, [
      ...(lines.length === sums.length ? [] : [`${lines.length} lines of ${sums.length} calls`]),
      ...wrongRequests(file),
    ]);
  }
  check(
    'charged is the lane that answered',
    sums.length,
    sums.flatMap((sum) => (row(sum)['supplier'] === sum.provider ? [] : [sum.call.name])),
  );
  check('none of them is an estimate', sums.length, [
    ...sums.flatMap((sum) => (row(sum)['usage_source'] === 'supplier' ? [] : [sum.call.name])),
  ]);
  const total = sums.reduce((sum, { nano }) => sum + nano, 0n);
  const earned = entries
    .filter(({ account }) => account === 'usage')
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  const wallet = entries
    .filter(({ account }) => account === 'wallet')
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  const [ofKey] = [...spent].filter(([name]) => name.startsWith('key ')).map(([, nano]) => nano);
  check(`ledger, wallet and key agree with ${total} nano-dollars, and nothing is left set aside`, 4, [
    ...(earned === total ? [] : [`ledger ${earned}`]),
    ...(wallet === BigInt(evidence.paidIn) - total ? [] : [`wallet ${wallet}`]),
    ...(ofKey === total ? [] : [`key ${ofKey}`]),
    ...(escrowed === 0n ? [] : [`${escrowed} set aside`]),
  ]);
}

void main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
});
