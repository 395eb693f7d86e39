/** Weight of each part of a score; each part is scored from 0 to 10. */
const rubric = {
  correctness: 0.45,
  instruction: 0.25,
  completeness: 0.15,
  clarity: 0.1,
  safety: 0.05,
} as const;

export type RubricPart = keyof typeof rubric;
export type RubricScores = Readonly<Record<RubricPart, number>>;

export const rubricParts = Object.keys(rubric) as readonly RubricPart[];
export const RUBRIC_VERSION = 'r1';

/** Returns the weighted total, from 0 to 100. */
export const totalOf = (scores: RubricScores): number =>
  Math.round(rubricParts.reduce((sum, part) => sum + rubric[part] * scores[part], 0) * 100) / 10;
