/** Recomputes the files that a payer downloads, each from its own lines. Nothing here is shared with the service. */
import { billOf, ceiling, type Counts, decimal, type Words } from './bill';

export type Line = Readonly<Record<string, string>>;

/** A file of comma-separated values, as RFC 4180 has it. */
export function linesOf(file: string): Line[] {
  const [names = [], ...rows] = file
    .trimEnd()
    .split(/\r\n(?=(?:[^"]*"[^"]*")*[^"]*$)/)
    .map((row) =>
      [...row.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
        ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain,
      ),
    );
  return rows.map((cells) => Object.fromEntries(names.map((name, place) => [name, cells[place] ?? ''])));
}

/** `web_search=3;file_search=1` */
const numbersIn = (text = ''): Record<string, number> =>
  Object.fromEntries(
    text.split(';').flatMap((pair) => {
      const [name = '', count] = pair.split('=');
      return count === undefined ? [] : [[name, Number(count)]];
    }),
  );

/** Nano-dollars that the line of one request comes to: its fields, its price and its factor. */
export function billOfLine(line: Line): bigint {
  const count = (name: string): number => {
    if (!/^\d+$/.test(line[name] ?? '')) throw new Error(`${name} is missing`);
    return Number(line[name]);
  };
  const counts: Counts = {
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
  const price = line['price'] ? (JSON.parse(line['price']) as Words) : null;
  return price === null ? 0n : billOf(counts, price, line['price_factor'] || 1);
}

/** The lines of requests whose cost is another than their own fields come to. */
export const wrongRequests = (file: string): string[] =>
  linesOf(file).flatMap((line) => {
    const due = billOfLine(line);
    const told = ceiling(decimal(line['cost']));
    return due === told ? [] : [`${line['request_id']}: ${told}, not ${due}`];
  });

const nano = (text = ''): bigint => {
  const amount = ceiling(decimal(text.replace(/^-/, '') || '0'));
  return text.startsWith('-') ? -amount : amount;
};
const total = (lines: readonly Line[], ...names: string[]): bigint =>
  lines
    .filter(({ line = '' }) => names.includes(line))
    .reduce((sum, { amount_usd: amount }) => sum + nano(amount), 0n);

/** A statement adds up, by members and by projects; a factor is no amount. */
export function wrongStatement(file: string): string[] {
  const lines = linesOf(file);
  const moved = total(lines, 'opening', 'posting', 'further_postings') - total(lines, 'closing');
  return [
    ...['member', 'project'].flatMap((by) => {
      const used = total(lines, by, `other_${by}s`);
      return used === -moved ? [] : [`by ${by} ${used}, not ${-moved}`];
    }),
    ...lines.flatMap(({ line, price_factor: factor, amount_usd: amount }) =>
      (line === 'price_factor') === (factor !== '' && amount === '')
        ? []
        : [`${line}: ${amount}, factor ${factor}`],
    ),
  ];
}

/** The newest first: each balance is the one below it and its own amount. */
export function wrongLedger(file: string): string[] {
  const lines = linesOf(file);
  return lines.flatMap(({ at, amount_usd: amount, balance_usd: balance }, place) => {
    const due = nano(lines[place + 1]?.['balance_usd']) + nano(amount);
    return due === nano(balance) ? [] : [`${at}: ${balance}, not ${due}`];
  });
}

/** A payment credits its net, less the share that was refunded or disputed. */
export const wrongPayments = (file: string): string[] =>
  linesOf(file).flatMap((line) => {
    const [net, gross] = [nano(line['credit_usd']), nano(line['amount_usd'])];
    const back = nano(line['refunded_usd']) + nano(line['disputed_usd']);
    const due = line['paid_at'] ? net - (net * (back < gross ? back : gross)) / gross : 0n;
    return due === nano(line['credited_usd']) ? [] : [`${line['id']}: ${line['credited_usd']}, not ${due}`];
  });
