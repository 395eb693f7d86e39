import { Type } from 'class-transformer';
import { IsInt, IsTimeZone, Matches, Max, MaxLength, Min } from 'class-validator';
import { Given } from '../platform';

const DAY_OR_INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;
const ID = /^[1-9]\d{0,8}$/;

/** Which records an address asks for, one by one or in sums. Days are those of the zone; `to` as a day includes it. */
export abstract class RecordParameters {
  @Given(Matches(DAY_OR_INSTANT))
  from?: string;

  @Given(Matches(DAY_OR_INSTANT))
  to?: string;

  /** So many days up to now, in place of `from`. */
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

  @Given(MaxLength(256))
  supplier?: string;

  @Given(MaxLength(256))
  region?: string;

  @Given(MaxLength(256))
  end_user?: string;

  @Given(MaxLength(64))
  tag?: string;
}
