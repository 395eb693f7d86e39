import { dayOrInstant, line, rowId, whole, zone } from '../kernel';
import { Takes } from '../platform';

const [name, id] = [line(256).orBlank(), rowId.orBlank()];

/**
 * The filters of records in an address, for lists and sums alike. Days are those of the zone; a day in `to` is
 * inclusive.
 */
export abstract class RecordParameters {
  @Takes(dayOrInstant.orBlank())
  from?: string;

  @Takes(dayOrInstant.orBlank())
  to?: string;

  /** The last so many days, in place of `from`. */
  @Takes(whole(1, 800).orBlank())
  days?: number;

  @Takes(zone.orBlank())
  zone?: string;

  @Takes(name)
  model?: string;

  @Takes(id)
  project?: number;

  @Takes(id)
  user?: number;

  @Takes(id)
  organisation?: number;

  @Takes(name)
  supplier?: string;

  @Takes(name)
  region?: string;

  @Takes(name)
  end_user?: string;

  @Takes(line(64).orBlank())
  tag?: string;
}
