import { isTopUp, LEAST_TOP_UP_CENTS, MOST_TOP_UP_CENTS } from '../../billing';
import { Field, findMembers, formatUsd, nanoPerCent, toJsonNumber, validationFault } from '../../kernel';
import type { HttpRequest } from '../../web';

const plainDecimal = /^\d{1,9}(?:\.\d{1,2})?$/;

const usdOf = (cents: bigint): number => toJsonNumber(cents * nanoPerCent);

/** The amount is in dollars with cents. The text is read by `centsField`: as a number it may look like another. */
export const centsWithin = (least: bigint, most: bigint): Field<unknown> =>
  new Field({
    schema: {
      type: ['number', 'string'],
      minimum: usdOf(least),
      maximum: usdOf(most),
      // People type a comma, too.
      pattern: '^\\d{1,9}([.,]\\d{1,2})?$',
    },
    read: (given) => given,
  });

export const topUpAmount = centsWithin(LEAST_TOP_UP_CENTS, MOST_TOP_UP_CENTS);

/** JSON bodies hold the amount as a number only. */
export const topUpNumber: Field<unknown> = new Field({
  schema: { type: 'number', minimum: usdOf(LEAST_TOP_UP_CENTS), maximum: usdOf(MOST_TOP_UP_CENTS) },
  read: (given) => given,
});

/** The most that a threshold or a ceiling can be. */
export const MOST_CENTS = 100_000_000n;

export const isJson = ({ headers }: HttpRequest): boolean =>
  headers['content-type']?.includes('json') === true;

/** Cents of a field of the body, as it was written: 1e2 and 10.001 are refused, which as numbers look the same. */
export function centsField(request: HttpRequest, name: string, leftOut: bigint | null = null): bigint {
  const text = writtenValue(request, name);
  if (text === null && leftOut !== null) return leftOut;
  if (text === null) throw refusal(name, 'field required', 'missing');
  if (!plainDecimal.test(text)) {
    throw refusal(
      name,
      'must be a number of dollars with at most two decimals, such as 50 or 12.50',
      'amount',
    );
  }
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole) * 100n + BigInt(fraction.padEnd(2, '0'));
}

export function topUpField(request: HttpRequest, name: string): bigint {
  const cents = centsField(request, name);
  if (isTopUp(cents)) return cents;
  const [least, most] = [LEAST_TOP_UP_CENTS, MOST_TOP_UP_CENTS].map((limit) =>
    formatUsd(limit * nanoPerCent, { fixed: 2 }),
  );
  throw refusal(name, `must be from ${least} to ${most} US dollars`, 'range');
}

function writtenValue(request: HttpRequest, name: string): string | null {
  const { rawBody, body } = request;
  if (rawBody === undefined) return null;
  if (isJson(request)) {
    const [place] = findMembers(rawBody, name);
    return place === undefined ? null : rawBody.subarray(place.start, place.end).toString('utf8').trim();
  }
  const value = (body as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' && value.trim() !== '' ? value.trim().replace(',', '.') : null;
}

export const refusal = (name: string, msg: string, type: string) =>
  validationFault([{ loc: ['body', name], msg, type }], { message: `${name} ${msg}.` });
