import { IsVerbatimLine, IsWholeNumber } from '../../web';

const MAX_ROWS = 1_000;
const MAX_OFFSET = 100_000;
const MAX_WINDOW_HOURS = 90 * 24;

/** Parameters and defaults follow the specification; an empty text means no filter. */
export class TokenLogQuery {
  @IsVerbatimLine(200, { default: '' })
  provider: string;

  @IsVerbatimLine(200, { default: '' })
  key_name: string;

  @IsWholeNumber(1, MAX_ROWS, { default: 100 })
  limit: number;

  /** Comma-separated kinds. */
  @IsVerbatimLine(200, { default: '' })
  kinds: string;

  @IsWholeNumber(0, Number.MAX_SAFE_INTEGER, { default: 0 })
  since_ms: number;

  @IsWholeNumber(0, MAX_OFFSET, { default: 0 })
  offset: number;

  @IsWholeNumber(1, MAX_WINDOW_HOURS, { default: 24 })
  window_hours: number;

  @IsVerbatimLine(50, { default: '' })
  source: string;

  @IsVerbatimLine(100, { default: '' })
  error_kind: string;
}
