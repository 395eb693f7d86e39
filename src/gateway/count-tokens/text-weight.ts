/** Weights are hundredths of a token. */
export const PER_TOKEN = 100;

/** A character of a script takes this weight on average in the tokenizers in use; later rows narrow earlier ones. */
const weights: readonly (readonly [first: number, last: number, weight: number])[] = [
  [0x0000, 0xffff, 60],
  [0x0000, 0x001f, 100],
  [0x0020, 0x007f, 55],
  [0x0009, 0x000d, 25],
  [0x0020, 0x0020, 6],
  [0x0030, 0x0039, 50],
  [0x0041, 0x005a, 34],
  [0x0061, 0x007a, 25],
  // These are Latin with marks, Greek and Cyrillic, Hebrew and Arabic.
  [0x0080, 0x024f, 45],
  [0x0370, 0x052f, 40],
  [0x0590, 0x08ff, 55],
  // These are Chinese and Japanese, and Korean.
  [0x2e80, 0xabff, 90],
  [0xac00, 0xd7a3, 80],
  // These are halves of what lies beyond: emoji, above all.
  [0xd800, 0xdfff, 110],
];

const weightOf = new Uint8Array(0x10000);
for (const [first, last, weight] of weights) weightOf.fill(weight, first, last + 1);

/** The weight of a text, character by character: it takes one pass, and more text never weighs less. */
export function textWeight(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length; at += 1) sum += weightOf[text.charCodeAt(at)] ?? 0;
  return sum;
}
