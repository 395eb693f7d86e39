import { IsIn } from 'class-validator';
import { UsageParameters } from '../../audit';
import { Given } from '../../platform';

export const measures = ['cost', 'tokens', 'requests', 'errors', 'latency', 'p95'] as const;
export type Measure = (typeof measures)[number];

/** The page also knows what its chart shows. */
export class UsagePageQuery extends UsageParameters {
  @Given(IsIn(measures))
  measure?: Measure;
}
