import { line, whole } from '../../kernel';
import { Takes } from '../../platform';

const MOST_ROWS = 1_000;
const FARTHEST_OFFSET = 100_000;
const LONGEST_WINDOW_HOURS = 90 * 24;

/** The parameters and defaults are those of the contract; an empty text filters nothing. */
export class TokenLogQuery {
  @Takes(line(200).default(''))
  provider: string;

  @Takes(line(200).default(''))
  key_name: string;

  @Takes(whole(1, MOST_ROWS).default(100))
  limit: number;

  /** Several kinds have commas between them. */
  @Takes(line(200).default(''))
  kinds: string;

  @Takes(whole(0, Number.MAX_SAFE_INTEGER).default(0))
  since_ms: number;

  @Takes(whole(0, FARTHEST_OFFSET).default(0))
  offset: number;

  @Takes(whole(1, LONGEST_WINDOW_HOURS).default(24))
  window_hours: number;

  @Takes(line(50).default(''))
  source: string;

  @Takes(line(100).default(''))
  error_kind: string;
}
