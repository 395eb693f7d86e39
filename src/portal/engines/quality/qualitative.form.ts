import { cursor, line, oneNumberOf, oneOf, type Period } from '../../../kernel';
import { ParsedBy } from '../../../platform';
import type { ScoreFilter } from '../../../quality';
import { DEFAULT_DAYS } from '../../lists/periods';

export const periods = [7, 30, 90, 365] as const;
export const roles = ['served', 'replay'] as const;
export const verdicts = ['ok', 'unjudgeable', 'judge_error'] as const;

/** Query of the quality reports page. An empty field means no filter. */
export class QualitativeQuery {
  @ParsedBy(oneNumberOf(periods).orBlank().default(DEFAULT_DAYS))
  days: number;

  @ParsedBy(line(256).orBlank())
  model?: string;

  @ParsedBy(oneOf(roles).orBlank())
  role?: (typeof roles)[number];

  @ParsedBy(oneOf(verdicts).orBlank())
  verdict?: (typeof verdicts)[number];

  @ParsedBy(line(100).orBlank())
  bucket?: string;

  @ParsedBy(cursor.orBlank())
  cursor?: string;

  /** The row whose details are open; scripts open them in place. */
  @ParsedBy(line(20).orBlank())
  open?: string;
}

export class ScoreDetailQuery {
  /** Defaults to the served reply. */
  @ParsedBy(line(256).orBlank())
  model?: string;
}

export function toScoreFilter(query: QualitativeQuery, { from }: Period): ScoreFilter {
  const { model, role, verdict, bucket } = query;
  return { from, model, role, verdict, bucket };
}
