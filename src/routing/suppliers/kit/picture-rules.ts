import type { Picture } from '../../../protocol';

/** What a supplier bills for pictures. */
export interface PictureRule {
  /** The most it bills for this one. */
  readonly most: (picture: Picture) => number;
  /** How many tokens it bills at most for one token of the context window. */
  readonly factor: number;
}

/** Vision models of other makers take up to 16,384 patches of a picture. */
const UNKNOWN_MOST = 16_384;

const unknownPictures: PictureRule = { most: () => UNKNOWN_MOST, factor: 1 };

/** Squares of `side` pixels, each `factor` tokens; what does not fit into `budget` squares is scaled down until it does. */
function bySquares(side: number, budget: number, factor = 1): PictureRule {
  return {
    factor,
    most: ({ size }) => {
      const squares =
        size?.isBinding === true ? Math.ceil(size.width / side) * Math.ceil(size.height / side) : budget;
      return Math.ceil(Math.min(squares, budget) * factor);
    },
  };
}

/** At most eight tiles of 512 pixels beside a small version of the whole, which is all that `low` looks at. */
function byTiles(base: number, tile: number, factor = 1): PictureRule {
  const most = base + 8 * tile;
  return { factor, most: ({ detail }) => (detail === 'low' ? base : most) };
}

/** How many squares `high` and, where the model knows it, `original` may take. */
function byDetail(factor: number, high: number, original: number, automatic: number): PictureRule {
  const rules = {
    high: bySquares(32, high, factor),
    original: bySquares(32, original, factor),
    auto: bySquares(32, automatic, factor),
  };
  return {
    factor,
    // Measured: `low` makes no difference to what these models bill.
    most: (picture) =>
      (picture.detail === 'high'
        ? rules.high
        : picture.detail === 'original'
          ? rules.original
          : rules.auto
      ).most(picture),
  };
}

type Families = readonly (readonly [RegExp, PictureRule])[];

/** By the vendor's guide to images and vision. */
const openaiFamilies: Families = [
  // Billed at 33 times what its pictures take of the window.
  [/^gpt-4o-mini/, byTiles(2_833, 5_667, 34)],
  [/^(gpt-4o|chatgpt-4o|gpt-4-turbo|gpt-4-vision|gpt-4\.5|gpt-4\.1(?!-(mini|nano)))/, byTiles(85, 170)],
  [/^(gpt-4\.1|gpt-5|gpt-5\.4)-(mini|nano)|^o4-mini|^codex-mini/, bySquares(32, 2_500, 2.46)],
  [/^(o1|o3)(?!-mini)/, byTiles(75, 150)],
  [/^computer-use-preview/, byTiles(65, 129)],
  [/^gpt-5(\.[0123])?-.*codex|^gpt-5\.[23](?!\d)/, bySquares(32, 2_500, 1.2)],
  [/^gpt-5(\.1)?(?![.\d])/, byTiles(70, 140)],
  [/^gpt-5\.4(?!\d)/, byDetail(1.2, 2_500, 10_000, 2_500)],
  [/^gpt-5\.5(?!\d)/, byDetail(1.2, 2_500, 10_000, 10_000)],
];
const openaiUnknown = bySquares(32, 30_000, 1.2);

/** Up to 4.6; later models look more closely. */
const claudeBefore47 = /claude-(instant|2|3|(opus|sonnet|haiku)-4(-[0-6](?!\d)|-\d{8}|$|@|:|-v))/;
const claudePictures = { before: bySquares(27, 1_600), since: bySquares(28, 4_784) };

/** Every maker's rule by what it calls its models. */
const families = {
  openai: (model: string): PictureRule =>
    openaiFamilies.find(([name]) => name.test(model))?.[1] ?? openaiUnknown,
  anthropic: (model: string): PictureRule =>
    claudeBefore47.test(model) ? claudePictures.before : claudePictures.since,
  // Sixteen tiles of 258 tokens and one for the whole; later models take 2,240 at most.
  gemini: (): PictureRule => ({ most: () => 17 * 258, factor: 1 }),
  // Pictures of 1,024 pixels in squares of 16, and a mark at the end of each row.
  mistral: (): PictureRule => ({ most: () => 64 * 65, factor: 1 }),
} as const;

export type PictureMaker = keyof typeof families;

/** A model that others host may be anybody's: then the dearest that its name suggests, and no less than the unknown. */
export function picturesOf(maker: PictureMaker | null, upstreamModel: string): PictureRule {
  const model = upstreamModel.slice(upstreamModel.lastIndexOf('/') + 1).toLowerCase();
  if (maker !== null) return families[maker](model);
  if (!/^(gpt-|chatgpt-|o\d)/.test(model)) return unknownPictures;
  const named = families.openai(model);
  return { factor: named.factor, most: (picture) => Math.max(UNKNOWN_MOST, named.most(picture)) };
}
