import { IsIn } from 'class-validator';
import { Given } from '../../platform';
import { RecordParameters } from '../record-parameters';
import type { UsageAsked } from './usage-asked';
import { type UsageBucket, usageBuckets, type UsageGrouping, usageGroupings } from './usage-question';

/** What usage can be asked for in an address. */
export class UsageParameters extends RecordParameters implements UsageAsked {
  @Given(IsIn(usageBuckets))
  bucket?: UsageBucket;

  @Given(IsIn(usageGroupings))
  group_by?: UsageGrouping;
}
