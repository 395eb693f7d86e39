import { parseJsonText } from '../../kernel';
import { type RubricPart, rubricParts, type RubricScores, totalOf } from './rubric';

export type RubricJudgement =
  | {
      readonly verdict: 'ok';
      readonly scores: RubricScores;
      readonly total: number;
      readonly rationale: string;
    }
  | { readonly verdict: 'unjudgeable' | 'judge_error'; readonly rationale: string };

export type Better = 'first' | 'second' | 'tie';
/** a is the served reply, b the other one. */
export type Preference = 'a' | 'b' | 'tie' | 'inconsistent';

const MAX_RATIONALE_LENGTH = 1_000;

/** Accepts a score only in the exact format, so that garbage, refusals and quotes of the judged text do not count. */
export function readRating(text: string, check: string): RubricJudgement {
  const reply = objectIn(text, ['check', 'verdict', 'scores', 'rationale']);
  if (reply === null) return judgeError('The judge did not answer in the form that it was asked for.');
  if (reply.check !== check)
    return judgeError('The answer is not the judge’s own: it lacks the sign of this request.');
  const rationale =
    typeof reply.rationale === 'string' ? reply.rationale.slice(0, MAX_RATIONALE_LENGTH) : null;
  const scores = scoresIn(reply.scores);
  if (rationale === null || scores === null) return judgeError('The judge gave no score for some part.');
  if (reply.verdict === 'unjudgeable') return { verdict: 'unjudgeable', rationale };
  if (reply.verdict !== 'ok') return judgeError('The judge gave no verdict.');
  return { verdict: 'ok', scores, total: totalOf(scores), rationale };
}

/** Returns null if the judge did not reply in the required format. */
export function readComparison(text: string, check: string): Better | null {
  const reply = objectIn(text, ['check', 'better']);
  if (reply === null || reply.check !== check) return null;
  const { better } = reply;
  return better === 'first' || better === 'second' || better === 'tie' ? better : null;
}

/** Returns `inconsistent` if the judge prefers a position rather than a reply. */
export function preferenceOf(servedFirst: Better | null, servedSecond: Better | null): Preference | null {
  if (servedFirst === null || servedSecond === null) return null;
  const servedFirstMap = { first: 'a', second: 'b', tie: 'tie' } as const;
  const servedSecondMap = { first: 'b', second: 'a', tie: 'tie' } as const;
  const preferences = [servedFirstMap[servedFirst], servedSecondMap[servedSecond]] as const;
  return preferences[0] === preferences[1] ? preferences[0] : 'inconsistent';
}

/**
 * Returns whether a text addresses its judge (prompt injection). Such a reply is not judged, because its score would be
 * meaningless.
 */
export const addressesJudge = (text: string): boolean => appeals.some((appeal) => appeal.test(text));

const appeals = [
  /\b(?:ignore|disregard|forget)\b.{0,40}\b(?:previous|prior|above|all|your)\b.{0,30}\b(?:instructions?|prompts?|rubric|rules)\b/is,
  /\b(?:judge|grader|evaluator|rater)\b.{0,60}\b(?:score|rate|give|award|assign)\b.{0,40}\b(?:10|ten|full|highest|maximum|perfect)\b/is,
  /"(?:verdict|correctness)"\s*:\s*["\d]/i,
  /\bgive\b.{0,20}\b(?:this|the) (?:answer|response)\b.{0,30}\b(?:10|ten|full marks|highest|perfect)\b/is,
];

const judgeError = (rationale: string): RubricJudgement => ({ verdict: 'judge_error', rationale });

/** Parses one object with exactly these members; a code fence around it is tolerated. */
function objectIn(text: string, members: readonly string[]): Record<string, unknown> | null {
  const bare = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1] ?? text;
  try {
    const value: unknown = parseJsonText(bare.trim());
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    const isExact =
      Object.keys(value).length === members.length && members.every((member) => Object.hasOwn(value, member));
    return isExact ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function scoresIn(value: unknown): RubricScores | null {
  if (typeof value !== 'object' || value === null) return null;
  const scores: Partial<Record<RubricPart, number>> = {};
  for (const part of rubricParts) {
    const score: unknown = Reflect.get(value, part);
    if (typeof score !== 'number' || !(score >= 0 && score <= 10)) return null;
    scores[part] = score;
  }
  return Object.keys(value).length === rubricParts.length ? (scores as RubricScores) : null;
}
