import { keyIdField } from '../../keys';
import { IsOneOf, ParsedBy, UsageFilters } from '../../web';

export const measures = ['cost', 'tokens', 'requests', 'errors', 'latency', 'p95'] as const;
export type UsageMeasure = (typeof measures)[number];

export class UsagePageQuery extends UsageFilters {
  @IsOneOf(measures, { optional: true })
  measure?: UsageMeasure;

  @ParsedBy(keyIdField, { optional: true })
  key?: number | string;
}
