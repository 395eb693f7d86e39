import { line, integer } from '../../kernel';
import { ParsedBy } from '../../platform';

const MAX_ROWS = 1_000;
const MAX_OFFSET = 100_000;
const MAX_WINDOW_HOURS = 90 * 24;

/** Parameters and defaults follow the specification; an empty text means no filter. */
export class TokenLogQuery {
  @ParsedBy(line(200).default(''))
  provider: string;

  @ParsedBy(line(200).default(''))
  key_name: string;

  @ParsedBy(integer(1, MAX_ROWS).default(100))
  limit: number;

  /** Comma-separated kinds. */
  @ParsedBy(line(200).default(''))
  kinds: string;

  @ParsedBy(integer(0, Number.MAX_SAFE_INTEGER).default(0))
  since_ms: number;

  @ParsedBy(integer(0, MAX_OFFSET).default(0))
  offset: number;

  @ParsedBy(integer(1, MAX_WINDOW_HOURS).default(24))
  window_hours: number;

  @ParsedBy(line(50).default(''))
  source: string;

  @ParsedBy(line(100).default(''))
  error_kind: string;
}
