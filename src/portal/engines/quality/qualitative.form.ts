import { cursor, line, oneNumberOf, oneOf, type Period } from '../../../kernel';
import { Takes } from '../../../platform';
import type { ScoreFilter } from '../../../quality';
import { USUAL_DAYS } from '../../lists/periods';

export const periods = [7, 30, 90, 365] as const;
export const roles = ['served', 'replay'] as const;
export const verdicts = ['ok', 'unjudgeable', 'judge_error'] as const;

/** The address of the page of quality reports. An empty field of its form stands for no filter. */
export class QualitativeQuery {
  @Takes(oneNumberOf(periods).orBlank().default(USUAL_DAYS))
  days: number;

  @Takes(line(256).orBlank())
  model?: string;

  @Takes(oneOf(roles).orBlank())
  role?: (typeof roles)[number];

  @Takes(oneOf(verdicts).orBlank())
  verdict?: (typeof verdicts)[number];

  @Takes(line(100).orBlank())
  bucket?: string;

  @Takes(cursor.orBlank())
  cursor?: string;

  /** The row whose details are open; scripts open them in place. */
  @Takes(line(20).orBlank())
  open?: string;
}

export class ScoreDetailQuery {
  /** Without it, the served answer is meant. */
  @Takes(line(256).orBlank())
  model?: string;
}

export function filterOf(query: QualitativeQuery, { from }: Period): ScoreFilter {
  const { model, role, verdict, bucket } = query;
  return { from, model, role, verdict, bucket };
}
