import { oneOf, rowId } from '../../kernel';
import { ParsedBy } from '../../platform';
import { RecordParameters } from '../record-parameters';
import type { UsageParameterValues } from './parse-usage-request';
import { type UsageBucket, usageBuckets, type UsageGrouping, usageGroupings } from './usage-request';

/** Usage filters in a URL. The key is excluded, because pages accept more values for it than the API. */
export abstract class UsageFilters extends RecordParameters {
  @ParsedBy(oneOf(usageBuckets).orBlank())
  bucket?: UsageBucket;

  @ParsedBy(oneOf(usageGroupings).orBlank())
  group_by?: UsageGrouping;
}

export class UsageParameters extends UsageFilters implements UsageParameterValues {
  @ParsedBy(rowId.orBlank())
  key?: number;
}
