import { oneOf, rowId } from '../../kernel';
import { Takes } from '../../platform';
import { RecordParameters } from '../record-parameters';
import type { UsageAsked } from './usage-asked';
import { type UsageBucket, usageBuckets, type UsageGrouping, usageGroupings } from './usage-question';

/** Addresses can narrow usage by these; the key is left out, of which pages take more than programs. */
export abstract class UsageFilters extends RecordParameters {
  @Takes(oneOf(usageBuckets).orBlank())
  bucket?: UsageBucket;

  @Takes(oneOf(usageGroupings).orBlank())
  group_by?: UsageGrouping;
}

export class UsageParameters extends UsageFilters implements UsageAsked {
  @Takes(rowId.orBlank())
  key?: number;
}
