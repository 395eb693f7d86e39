import { cursor, type Period } from '../../../kernel';
import type { ScoreFilter } from '../../../quality';
import { IsOneNumberOf, IsOneOf, IsVerbatimLine, ParsedBy } from '../../../web';
import { DEFAULT_DAYS } from '../../lists/periods';

export const periods = [7, 30, 90, 365] as const;
export const roles = ['served', 'replay'] as const;
export const verdicts = ['ok', 'unjudgeable', 'judge_error'] as const;

/** Query of the quality reports page. An empty field means no filter. */
export class QualitativeQuery {
  @IsOneNumberOf(periods, { optional: true, default: DEFAULT_DAYS })
  days: number;

  @IsVerbatimLine(256, { optional: true })
  model?: string;

  @IsOneOf(roles, { optional: true })
  role?: (typeof roles)[number];

  @IsOneOf(verdicts, { optional: true })
  verdict?: (typeof verdicts)[number];

  @IsVerbatimLine(100, { optional: true })
  bucket?: string;

  @ParsedBy(cursor, { optional: true })
  cursor?: string;

  /** The row whose details are open; scripts open them in place. */
  @IsVerbatimLine(20, { optional: true })
  open?: string;
}

export class ScoreDetailQuery {
  /** Defaults to the served reply. */
  @IsVerbatimLine(256, { optional: true })
  model?: string;
}

export function toScoreFilter(query: QualitativeQuery, { from }: Period): ScoreFilter {
  const { model, role, verdict, bucket } = query;
  return { from, model, role, verdict, bucket };
}
