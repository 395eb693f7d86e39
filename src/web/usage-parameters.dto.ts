import {
  type UsageBucket,
  usageBuckets,
  type UsageGrouping,
  usageGroupings,
  type UsageParameterValues,
} from '../audit';
import { IsDayOrInstant, IsOneOf, IsRowId, IsVerbatimLine, IsWholeNumber, IsZoneName } from './validation';

/** Record filters in a URL, for lists and sums. Days are those of the zone; a day in `to` is inclusive. */
export abstract class RecordParameters {
  @IsDayOrInstant({ optional: true })
  from?: string;

  @IsDayOrInstant({ optional: true })
  to?: string;

  /** Number of past days, instead of `from`. */
  @IsWholeNumber(1, 800, { optional: true })
  days?: number;

  @IsZoneName({ optional: true })
  zone?: string;

  @IsVerbatimLine(256, { optional: true })
  model?: string;

  @IsRowId({ optional: true })
  project?: number;

  @IsRowId({ optional: true })
  user?: number;

  @IsRowId({ optional: true })
  organisation?: number;

  @IsVerbatimLine(256, { optional: true })
  supplier?: string;

  @IsVerbatimLine(256, { optional: true })
  region?: string;

  @IsVerbatimLine(256, { optional: true })
  end_user?: string;

  @IsVerbatimLine(64, { optional: true })
  tag?: string;
}

/** Usage filters in a URL. The key is excluded, because pages accept more values for it than the API. */
export abstract class UsageFilters extends RecordParameters {
  @IsOneOf(usageBuckets, { optional: true })
  bucket?: UsageBucket;

  @IsOneOf(usageGroupings, { optional: true })
  group_by?: UsageGrouping;
}

export class UsageParameters extends UsageFilters implements UsageParameterValues {
  @IsRowId({ optional: true })
  key?: number;
}
