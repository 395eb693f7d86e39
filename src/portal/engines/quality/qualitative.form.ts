import { Type } from 'class-transformer';
import { IsIn, IsInt, MaxLength } from 'class-validator';
import { Given } from '../../../platform';
import type { ScoreFilter } from '../../../quality';

export const periods = [7, 30, 90, 365] as const;
export const roles = ['served', 'replay'] as const;
export const verdicts = ['ok', 'unjudgeable', 'judge_error'] as const;

const USUAL_DAYS = 30;
const DAY_MS = 86_400_000;

/** The address of the page of quality reports. Empty fields of its form stand for no filter. */
export class QualitativeQuery {
  @Given(Type(() => Number), IsInt(), IsIn(periods))
  days?: number;

  @Given(MaxLength(256))
  model?: string;

  @Given(IsIn(roles))
  role?: (typeof roles)[number];

  @Given(IsIn(verdicts))
  verdict?: (typeof verdicts)[number];

  @Given(MaxLength(100))
  bucket?: string;

  @Given(MaxLength(1_000))
  cursor?: string;

  /** The row whose details are open; scripts open them in place. */
  @Given(MaxLength(20))
  open?: string;
}

export class ScoreDetailQuery {
  /** Without it, the served answer. */
  @Given(MaxLength(256))
  model?: string;
}

export const daysOf = ({ days }: QualitativeQuery): number => days ?? USUAL_DAYS;

export function filterOf(query: QualitativeQuery, now: number): ScoreFilter {
  const { model, role, verdict, bucket } = query;
  return { from: new Date(now - daysOf(query) * DAY_MS), model, role, verdict, bucket };
}
