import { isTopUp, MIN_TOP_UP_CENTS, MAX_TOP_UP_CENTS } from '../../billing';
import { InputField, findMembers, formatUsd, nanoPerCent, toJsonNumber, validationFault } from '../../kernel';
import type { HttpRequest } from '../../web';

const plainDecimal = /^\d{1,9}(?:\.\d{1,2})?$/;

const usdOf = (cents: bigint): number => toJsonNumber(cents * nanoPerCent);

/** A dollar amount with cents. `centsField` reads the raw text, because parsing it as a number loses its form. */
export const centsWithin = (min: bigint, max: bigint): InputField<unknown> =>
  new InputField({
    schema: {
      type: ['number', 'string'],
      minimum: usdOf(min),
      maximum: usdOf(max),
      // Accepts a decimal comma as well.
      pattern: '^\\d{1,9}([.,]\\d{1,2})?$',
    },
    read: (input) => input,
  });

export const topUpAmount = centsWithin(MIN_TOP_UP_CENTS, MAX_TOP_UP_CENTS);

/** JSON bodies accept the amount as a number only. */
export const topUpNumber: InputField<unknown> = new InputField({
  schema: { type: 'number', minimum: usdOf(MIN_TOP_UP_CENTS), maximum: usdOf(MAX_TOP_UP_CENTS) },
  read: (input) => input,
});

/** Maximum of a threshold or a monthly ceiling. */
export const MAX_CENTS = 100_000_000n;

export const isJson = ({ headers }: HttpRequest): boolean =>
  headers['content-type']?.includes('json') === true;

/** Reads cents from the raw text of the body. Rejects 1e2 and 10.001, which a parsed number could not reveal. */
export function centsField(request: HttpRequest, name: string, defaultCents: bigint | null = null): bigint {
  const text = rawValue(request, name);
  if (text === null && defaultCents !== null) return defaultCents;
  if (text === null) throw fieldError(name, 'field required', 'missing');
  if (!plainDecimal.test(text)) {
    throw fieldError(
      name,
      'must be a number of dollars with at most two decimals, such as 50 or 12.50',
      'amount',
    );
  }
  const [dollars = '', fraction = ''] = text.split('.');
  return BigInt(dollars) * 100n + BigInt(fraction.padEnd(2, '0'));
}

export function topUpField(request: HttpRequest, name: string): bigint {
  const cents = centsField(request, name);
  if (isTopUp(cents)) return cents;
  const [min, max] = [MIN_TOP_UP_CENTS, MAX_TOP_UP_CENTS].map((limit) =>
    formatUsd(limit * nanoPerCent, { fixed: 2 }),
  );
  throw fieldError(name, `must be from ${min} to ${max} US dollars`, 'range');
}

function rawValue(request: HttpRequest, name: string): string | null {
  const { rawBody, body } = request;
  if (rawBody === undefined) return null;
  if (isJson(request)) {
    const [member] = findMembers(rawBody, name);
    return member === undefined ? null : rawBody.subarray(member.start, member.end).toString('utf8').trim();
  }
  const value = (body as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' && value.trim() !== '' ? value.trim().replace(',', '.') : null;
}

export const fieldError = (name: string, msg: string, type: string) =>
  validationFault([{ loc: ['body', name], msg, type }], { message: `${name} ${msg}.` });
