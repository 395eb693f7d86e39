export const allKinds = ['email', 'iban', 'card', 'phone'] as const;
export type Kind = (typeof allKinds)[number];

interface TextRange {
  readonly start: number;
  readonly end: number;
}

export interface PersonalDataMatch extends TextRange {
  readonly kind: Kind;
}

/** Returns matches kind by kind, so ranges can overlap. */
export type Finder = (text: string) => readonly PersonalDataMatch[];

/*
 * Every pattern is bounded, so that matches have a maximum length, and defines what can precede and follow it, so that
 * a match is the same in a longer text.
 */
const EMAIL =
  /[\w.%+\u00c0-\u1fff\u3040-\ud7ff-]{1,48}@[\w.\u00c0-\u1fff\u3040-\ud7ff-]{1,48}\.[a-z\u00c0-\u1fff\u3040-\ud7ff]{2,24}/gi;
const IBAN = /(?<![A-Z\d])[A-Z]{2}\d{2}(?:[ -]?[A-Z\d]){11,30}/gi;
/** Every position where a card number could start, because it might follow other digits. */
const CARD = /(?<!\d)(?=([2-6]\d(?:[ -]?\d){11,17}))/g;
const INTERNATIONAL = /(?<![\p{L}\d+])(?:\+|00)[1-9](?:[ ()./-]{0,2}\d){6,13}(?!\d)/gu;
const NATIONAL = /(?<![\p{L}\d.,-])0[1-9]\d{1,3}[ /-]?\d{3,4}[ -]?\d{2,5}(?!\d)/gu;
const AMERICAN = /(?<![\p{L}\d.,-])\(?[2-9]\d{2}\)?[ .-]{1,2}\d{3}[ .-]\d{4}(?!\d)/gu;

export const finderOf =
  (kinds: readonly Kind[]): Finder =>
  (text) => {
    // Cheapest check: most texts have neither.
    if (!/[@\d]/.test(text)) return [];
    const isPossible = { mail: text.includes('@'), number: /\d/.test(text) };
    return kinds.flatMap((kind) =>
      isPossible[kind === 'email' ? 'mail' : 'number']
        ? finders[kind](text).map((range) => ({ kind, ...range }))
        : [],
    );
  };

const finders: Readonly<Record<Kind, (text: string) => TextRange[]>> = {
  email: (text) => matches(text, EMAIL),
  iban: (text) => matches(text, IBAN).flatMap((range) => ibanAt(text, range)),
  card: (text) => [...text.matchAll(CARD)].flatMap(cardAt),
  phone: (text) => [INTERNATIONAL, NATIONAL, AMERICAN].flatMap((pattern) => matches(text, pattern)),
};

const matches = (text: string, pattern: RegExp): TextRange[] =>
  [...text.matchAll(pattern)].map(({ index, 0: match }) => ({ start: index, end: index + match.length }));

/** Length of account numbers by country. */
const IBAN_LENGTHS: Readonly<Record<string, number>> = Object.fromEntries(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 ' +
    'FR27 GB22 GE22 GI23 GL18 GR27 HR21 HU28 IE22 IL23 IS26 IT27 JO30 KW30 KZ20 LB28 LI21 LT20 LU20 LV21 MC27 MD24 ' +
    'ME22 MK19 MT31 NL18 NO15 PK24 PL28 PT25 QA29 RO24 RS22 SA24 SE24 SI19 SK24 SM27 TN24 TR26 UA29 VA22'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

/** The match can extend into the words after the number: its country determines the length. */
function ibanAt(text: string, { start, end }: TextRange): TextRange[] {
  const length = IBAN_LENGTHS[text.slice(start, start + 2).toUpperCase()];
  const ownEnd = length === undefined ? null : endOf(text, start, end, length);
  return ownEnd !== null && hasIbanCheck(text.slice(start, ownEnd)) ? [{ start, end: ownEnd }] : [];
}

/** Returns the end of `count` letters and digits; null if there are fewer, or if more follow immediately. */
function endOf(text: string, start: number, end: number, count: number): number | null {
  let remaining = count;
  let at = start;
  for (; at < end && remaining > 0; at += 1) if (/[A-Z\d]/i.test(text[at]!)) remaining -= 1;
  return remaining > 0 || /[A-Z\d]/i.test(text[at] ?? '') ? null : at;
}

/** Verifies that the digits modulo 97 are 1, with the head moved to the end and letters as numbers. */
function hasIbanCheck(iban: string): boolean {
  const plain = iban.replaceAll(/[ -]/g, '').toUpperCase();
  let rest = 0;
  for (const character of plain.slice(4) + plain.slice(0, 4))
    for (const digit of Number.parseInt(character, 36).toString()) rest = (rest * 10 + Number(digit)) % 97;
  return rest === 1;
}

/** Lengths of card numbers by their first digit. */
const CARD_LENGTHS: Readonly<Record<string, readonly number[]>> = {
  2: [16],
  3: [15, 14, 16],
  4: [16, 13, 19],
  5: [16],
  6: [16, 19],
};

function cardAt({ index: start, input, 1: match = '' }: RegExpExecArray): TextRange[] {
  for (const length of CARD_LENGTHS[match[0]!]!) {
    const end = endOf(input, start, start + match.length, length);
    if (end !== null && hasLuhnCheck(input.slice(start, end))) return [{ start, end }];
  }
  return [];
}

/** Verifies the Luhn check: every second digit from the end counts twice, and the sum ends in 0. */
function hasLuhnCheck(number: string): boolean {
  const digits = [...number.replaceAll(/\D/g, '')].map(Number).reverse();
  const sum = digits.reduce((total, digit, index) => {
    const counted = index % 2 === 1 ? digit * 2 : digit;
    return total + (counted > 9 ? counted - 9 : counted);
  }, 0);
  return sum % 10 === 0;
}
