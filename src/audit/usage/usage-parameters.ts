import { oneOf } from '../../kernel';
import { Takes } from '../../platform';
import { RecordParameters } from '../record-parameters';
import type { UsageAsked } from './usage-asked';
import { type UsageBucket, usageBuckets, type UsageGrouping, usageGroupings } from './usage-question';

/** What usage can be asked for in an address. */
export class UsageParameters extends RecordParameters implements UsageAsked {
  @Takes(oneOf(usageBuckets).orBlank())
  bucket?: UsageBucket;

  @Takes(oneOf(usageGroupings).orBlank())
  group_by?: UsageGrouping;
}
