import { Type } from 'class-transformer';
import { IsInt, IsTimeZone, Matches, Max, MaxLength, Min } from 'class-validator';
import { Given } from '../platform';

const DAY_OR_INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;
const ID = /^[1-9]\d{0,8}$/;

/**
 * The filters of records in an address, for lists and sums alike. Days are those of the zone; a day in `to` is
 * inclusive.
 */
export abstract class RecordParameters {
  @Given(Matches(DAY_OR_INSTANT))
  from?: string;

  @Given(Matches(DAY_OR_INSTANT))
  to?: string;

  /** The last so many days, in place of `from`. */
  @Given(Type(() => Number), IsInt(), Min(1), Max(800))
  days?: number;

  @Given(IsTimeZone())
  zone?: string;

  @Given(MaxLength(256))
  model?: string;

  @Given(Matches(ID))
  key?: string;

  @Given(Matches(ID))
  project?: string;

  @Given(Matches(ID))
  user?: string;

  @Given(Matches(ID))
  organisation?: string;

  @Given(MaxLength(256))
  supplier?: string;

  @Given(MaxLength(256))
  region?: string;

  @Given(MaxLength(256))
  end_user?: string;

  @Given(MaxLength(64))
  tag?: string;
}
