import type { PictureRule } from '#extension';
import type { LaneFacts, PictureFacts } from '../../../vendors';

/** Squares of `side` pixels, each `factor` tokens; what does not fit into `most` squares is scaled down until it does. */
function bySquares({ side, most, factor = 1 }: { side: number; most: number; factor?: number }): PictureRule {
  return {
    factor,
    most: ({ size }) => {
      const squares =
        size?.isBinding === true ? Math.ceil(size.width / side) * Math.ceil(size.height / side) : most;
      return Math.ceil(Math.min(squares, most) * factor);
    },
  };
}

/** At most eight tiles of 512 pixels stand beside a small version of the whole, which is all that `low` looks at. */
function byTiles({ base, tile, factor = 1 }: { base: number; tile: number; factor?: number }): PictureRule {
  const most = base + 8 * tile;
  return { factor, most: ({ detail }) => (detail === 'low' ? base : most) };
}

/** Pictures of `high` and, where the model knows it, `original` may take so many squares. */
function byDetail({
  high,
  original,
  automatic,
  factor,
}: Extract<PictureFacts, { kind: 'detail' }>): PictureRule {
  const squares = (most: number): PictureRule => bySquares({ side: 32, most, factor });
  const rules = { high: squares(high), original: squares(original), auto: squares(automatic) };
  return {
    factor,
    // Measurements show that `low` makes no difference to what these models bill.
    most: (picture) =>
      (picture.detail === 'high'
        ? rules.high
        : picture.detail === 'original'
          ? rules.original
          : rules.auto
      ).most(picture),
  };
}

function ruleOf(facts: PictureFacts): PictureRule {
  switch (facts.kind) {
    case 'squares':
      return bySquares(facts);
    case 'tiles':
      return byTiles(facts);
    case 'detail':
      return byDetail(facts);
    case 'flat':
      return { factor: 1, most: () => facts.tokens };
  }
}

/** Models of a maker that are not known bill like its later ones. */
const ofMaker = {
  openai: bySquares({ side: 32, most: 30_000, factor: 1.2 }),
  anthropic: bySquares({ side: 28, most: 4_784 }),
  // There are sixteen tiles of 258 tokens and one for the whole; later models take 2,240 at most.
  gemini: ruleOf({ kind: 'flat', tokens: 17 * 258 }),
  // A picture has 1,024 pixels in squares of 16, and a mark at the end of each row.
  mistral: ruleOf({ kind: 'flat', tokens: 64 * 65 }),
} as const;

export type PictureMaker = keyof typeof ofMaker;

/** Vision models of other makers take up to 16,384 patches of a picture. */
const UNKNOWN_MOST = 16_384;
const unknownPictures: PictureRule = { most: () => UNKNOWN_MOST, factor: 1 };

const rules = new WeakMap<PictureFacts, PictureRule>();

/**
 * The facts of a model decide, for an unknown one its maker. Where others host it, it takes no less than the unknown.
 */
export function picturesOf(maker: PictureMaker | null, { pictures }: LaneFacts): PictureRule {
  if (pictures === undefined) return maker === null ? unknownPictures : ofMaker[maker];
  let told = rules.get(pictures);
  if (told === undefined) rules.set(pictures, (told = ruleOf(pictures)));
  if (maker !== null) return told;
  const { factor, most } = told;
  return { factor, most: (picture) => Math.max(UNKNOWN_MOST, most(picture)) };
}
