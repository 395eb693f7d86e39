/** Weights are in hundredths of a token. */
export const WEIGHT_PER_TOKEN = 100;

/** Average weight per character of a script in the tokenizers in use; later rows override earlier ones. */
const weights: readonly (readonly [first: number, last: number, weight: number])[] = [
  [0x0000, 0xffff, 60],
  [0x0000, 0x001f, 100],
  [0x0020, 0x007f, 55],
  [0x0009, 0x000d, 25],
  [0x0020, 0x0020, 6],
  [0x0030, 0x0039, 50],
  [0x0041, 0x005a, 34],
  [0x0061, 0x007a, 25],
  // Latin with diacritics, Greek and Cyrillic, Hebrew and Arabic.
  [0x0080, 0x024f, 45],
  [0x0370, 0x052f, 40],
  [0x0590, 0x08ff, 55],
  // Chinese and Japanese, then Korean.
  [0x2e80, 0xabff, 90],
  [0xac00, 0xd7a3, 80],
  // Surrogates, mainly of emoji.
  [0xd800, 0xdfff, 110],
];

const weightByCode = new Uint8Array(0x10000);
for (const [first, last, weight] of weights) weightByCode.fill(weight, first, last + 1);

/** Sums the weights of all characters in one pass; a longer text never weighs less. */
export function textWeight(text: string): number {
  let sum = 0;
  for (let index = 0; index < text.length; index += 1) sum += weightByCode[text.charCodeAt(index)] ?? 0;
  return sum;
}
