import type { PictureRule } from '#extension';
import type { LaneFacts, PictureFacts } from '../../../vendors';

/** Squares of `side` pixels at `factor` tokens each; larger images are scaled down to `most` squares. */
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

/** A base image plus up to eight tiles of 512 pixels; detail `low` uses the base image only. */
function byTiles({ base, tile, factor = 1 }: { base: number; tile: number; factor?: number }): PictureRule {
  const most = base + 8 * tile;
  return { factor, most: ({ detail }) => (detail === 'low' ? base : most) };
}

/** Maximum number of squares for detail `high` and, if the model supports it, `original`. */
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
    // Measurements show that `low` does not change what these models bill.
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

/** Unknown models of a known maker are billed like its newest ones. */
const rulesByMaker = {
  openai: bySquares({ side: 32, most: 30_000, factor: 1.2 }),
  anthropic: bySquares({ side: 28, most: 4_784 }),
  // Sixteen tiles of 258 tokens plus one for the complete image; newer models use at most 2,240.
  gemini: ruleOf({ kind: 'flat', tokens: 17 * 258 }),
  // 1,024 pixels in squares of 16, and a mark at the end of each row.
  mistral: ruleOf({ kind: 'flat', tokens: 64 * 65 }),
} as const;

export type PictureMaker = keyof typeof rulesByMaker;

/** Vision models of other makers use up to 16,384 patches per image. */
const UNKNOWN_MAX_TOKENS = 16_384;
const unknownPictures: PictureRule = { most: () => UNKNOWN_MAX_TOKENS, factor: 1 };

const rules = new WeakMap<PictureFacts, PictureRule>();

/**
 * The rule of a known model, or of its maker. If others host it, the rule never counts less than for an unknown model.
 */
export function picturesOf(maker: PictureMaker | null, { pictures }: LaneFacts): PictureRule {
  if (pictures === undefined) return maker === null ? unknownPictures : rulesByMaker[maker];
  let rule = rules.get(pictures);
  if (rule === undefined) rules.set(pictures, (rule = ruleOf(pictures)));
  if (maker !== null) return rule;
  const { factor, most } = rule;
  return { factor, most: (picture) => Math.max(UNKNOWN_MAX_TOKENS, most(picture)) };
}
