import { UsageFilters } from '../../audit';
import { oneOf } from '../../kernel';
import { keyOfPage } from '../../keys';
import { Takes } from '../../platform';

export const measures = ['cost', 'tokens', 'requests', 'errors', 'latency', 'p95'] as const;
export type Measure = (typeof measures)[number];

/** The page also knows what its chart shows. */
export class UsagePageQuery extends UsageFilters {
  @Takes(oneOf(measures).orBlank())
  measure?: Measure;

  @Takes(keyOfPage.orBlank())
  key?: number | string;
}
