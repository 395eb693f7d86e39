/** Recomputes the files that a payer downloads, each from its own lines; shares no code with the service. */
import { billOf, ceiling, type BilledCounts, decimal, type PriceObject } from './bill';

export type CsvLine = Readonly<Record<string, string>>;

/** Parses CSV as defined by RFC 4180. */
export function linesOf(file: string): CsvLine[] {
  const [names = [], ...rows] = file
    .trimEnd()
    .split(/\r\n(?=(?:[^"]*"[^"]*")*[^"]*$)/)
    .map((row) =>
      [...row.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
        ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain,
      ),
    );
  return rows.map((cells) => Object.fromEntries(names.map((name, index) => [name, cells[index] ?? ''])));
}

/** Parses `web_search=3;file_search=1`. */
const numbersIn = (text = ''): Record<string, number> =>
  Object.fromEntries(
    text.split(';').flatMap((pair) => {
      const [name = '', count] = pair.split('=');
      return count === undefined ? [] : [[name, Number(count)]];
    }),
  );

/** Cost in nano-dollars of the line of one request, from its fields, price and factor. */
export function billOfLine(line: CsvLine): bigint {
  const count = (name: string): number => {
    if (!/^\d+$/.test(line[name] ?? '')) throw new Error(`${name} is missing`);
    return Number(line[name]);
  };
  const counts: BilledCounts = {
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
    uses: numbersIn(line['tool_uses']),
    images: numbersIn(line['images']),
    modes: Object.fromEntries(
      ['service_tier', 'speed', 'inference_geo'].flatMap((name) => (line[name] ? [[name, line[name]]] : [])),
    ),
  };
  const price = line['price'] ? (JSON.parse(line['price']) as PriceObject) : null;
  return price === null ? 0n : billOf(counts, price, line['price_factor'] || 1);
}

/** Lines of requests whose cost differs from what their own fields amount to. */
export const wrongRequests = (file: string): string[] =>
  linesOf(file).flatMap((line) => {
    const expectedCost = billOfLine(line);
    const listedCost = ceiling(decimal(line['cost']));
    return expectedCost === listedCost ? [] : [`${line['request_id']}: ${listedCost}, not ${expectedCost}`];
  });

const nano = (text = ''): bigint => {
  const amount = ceiling(decimal(text.replace(/^-/, '') || '0'));
  return text.startsWith('-') ? -amount : amount;
};
const total = (lines: readonly CsvLine[], ...names: string[]): bigint =>
  lines
    .filter(({ line = '' }) => names.includes(line))
    .reduce((sum, { amount_usd: amount }) => sum + nano(amount), 0n);

/** Checks that a statement adds up, by members and by projects; a factor is not an amount. */
export function wrongStatement(file: string): string[] {
  const lines = linesOf(file);
  const difference = total(lines, 'opening', 'posting', 'further_postings') - total(lines, 'closing');
  return [
    ...['member', 'project'].flatMap((by) => {
      const sumOfGroup = total(lines, by, `other_${by}s`);
      return sumOfGroup === -difference ? [] : [`by ${by} ${sumOfGroup}, not ${-difference}`];
    }),
    ...lines.flatMap(({ line, price_factor: factor, amount_usd: amount }) =>
      (line === 'price_factor') === (factor !== '' && amount === '')
        ? []
        : [`${line}: ${amount}, factor ${factor}`],
    ),
  ];
}

/** Newest first: each balance is the one below plus its own amount. */
export function wrongLedger(file: string): string[] {
  const lines = linesOf(file);
  return lines.flatMap(({ at, amount_usd: amount, balance_usd: balance }, index) => {
    const expectedBalance = nano(lines[index + 1]?.['balance_usd']) + nano(amount);
    return expectedBalance === nano(balance) ? [] : [`${at}: ${balance}, not ${expectedBalance}`];
  });
}

/** A payment credits its net amount, less the share that was refunded or disputed. */
export const wrongPayments = (file: string): string[] =>
  linesOf(file).flatMap((line) => {
    const [net, gross] = [nano(line['credit_usd']), nano(line['amount_usd'])];
    const returned = nano(line['refunded_usd']) + nano(line['disputed_usd']);
    const expectedCredit = line['paid_at'] ? net - (net * (returned < gross ? returned : gross)) / gross : 0n;
    return expectedCredit === nano(line['credited_usd'])
      ? []
      : [`${line['id']}: ${line['credited_usd']}, not ${expectedCredit}`];
  });
