import { UsageFilters } from '../../audit';
import { oneOf } from '../../kernel';
import { keyIdField } from '../../keys';
import { ParsedBy } from '../../platform';

export const measures = ['cost', 'tokens', 'requests', 'errors', 'latency', 'p95'] as const;
export type UsageMeasure = (typeof measures)[number];

export class UsagePageQuery extends UsageFilters {
  @ParsedBy(oneOf(measures).orBlank())
  measure?: UsageMeasure;

  @ParsedBy(keyIdField.orBlank())
  key?: number | string;
}
