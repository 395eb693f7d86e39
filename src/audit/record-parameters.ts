import { dayOrInstant, line, rowId, integer, zone } from '../kernel';
import { ParsedBy } from '../platform';

const [name, id] = [line(256).orBlank(), rowId.orBlank()];

/** Record filters in a URL, for lists and sums. Days are those of the zone; a day in `to` is inclusive. */
export abstract class RecordParameters {
  @ParsedBy(dayOrInstant.orBlank())
  from?: string;

  @ParsedBy(dayOrInstant.orBlank())
  to?: string;

  /** Number of past days, instead of `from`. */
  @ParsedBy(integer(1, 800).orBlank())
  days?: number;

  @ParsedBy(zone.orBlank())
  zone?: string;

  @ParsedBy(name)
  model?: string;

  @ParsedBy(id)
  project?: number;

  @ParsedBy(id)
  user?: number;

  @ParsedBy(id)
  organisation?: number;

  @ParsedBy(name)
  supplier?: string;

  @ParsedBy(name)
  region?: string;

  @ParsedBy(name)
  end_user?: string;

  @ParsedBy(line(64).orBlank())
  tag?: string;
}
