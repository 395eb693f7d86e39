import { parseJsonText } from '../../kernel';
import { type RubricPart, rubricParts, type RubricScores, totalOf } from './rubric';

export type Judgement =
  | {
      readonly verdict: 'ok';
      readonly scores: RubricScores;
      readonly total: number;
      readonly rationale: string;
    }
  | { readonly verdict: 'unjudgeable' | 'judge_error'; readonly rationale: string };

export type Better = 'first' | 'second' | 'tie';
/** The served answer is a, and the other one is b. */
export type Preference = 'a' | 'b' | 'tie' | 'inconsistent';

const LONGEST_RATIONALE = 1_000;

/** Only the exact format is a score: garbage, a refusal or words of the judged text are none. */
export function readRating(text: string, check: string): Judgement {
  const said = objectIn(text, ['check', 'verdict', 'scores', 'rationale']);
  if (said === null) return wrong('The judge did not answer in the form that it was asked for.');
  if (said.check !== check)
    return wrong('The answer is not the judge’s own: it lacks the sign of this request.');
  const rationale = typeof said.rationale === 'string' ? said.rationale.slice(0, LONGEST_RATIONALE) : null;
  const scores = scoresIn(said.scores);
  if (rationale === null || scores === null) return wrong('The judge gave no score for some part.');
  if (said.verdict === 'unjudgeable') return { verdict: 'unjudgeable', rationale };
  if (said.verdict !== 'ok') return wrong('The judge gave no verdict.');
  return { verdict: 'ok', scores, total: totalOf(scores), rationale };
}

/** It is null where the judge did not answer what it was asked. */
export function readComparison(text: string, check: string): Better | null {
  const said = objectIn(text, ['check', 'better']);
  if (said === null || said.check !== check) return null;
  const { better } = said;
  return better === 'first' || better === 'second' || better === 'tie' ? better : null;
}

/** A judge that prefers a position has no preference between the answers. */
export function preferenceOf(servedFirst: Better | null, servedSecond: Better | null): Preference | null {
  if (servedFirst === null || servedSecond === null) return null;
  const before = { first: 'a', second: 'b', tie: 'tie' } as const;
  const after = { first: 'b', second: 'a', tie: 'tie' } as const;
  const preferences = [before[servedFirst], after[servedSecond]] as const;
  return preferences[0] === preferences[1] ? preferences[0] : 'inconsistent';
}

/**
 * Such a text addresses its judge (prompt injection). Such an answer is not judged, as its score would mean
 * nothing.
 */
export const addressesJudge = (text: string): boolean => appeals.some((appeal) => appeal.test(text));

const appeals = [
  /\b(?:ignore|disregard|forget)\b.{0,40}\b(?:previous|prior|above|all|your)\b.{0,30}\b(?:instructions?|prompts?|rubric|rules)\b/is,
  /\b(?:judge|grader|evaluator|rater)\b.{0,60}\b(?:score|rate|give|award|assign)\b.{0,40}\b(?:10|ten|full|highest|maximum|perfect)\b/is,
  /"(?:verdict|correctness)"\s*:\s*["\d]/i,
  /\bgive\b.{0,20}\b(?:this|the) (?:answer|response)\b.{0,30}\b(?:10|ten|full marks|highest|perfect)\b/is,
];

const wrong = (rationale: string): Judgement => ({ verdict: 'judge_error', rationale });

/** One object with exactly these members; a code fence around it is tolerated. */
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
