import { Injectable } from '@nestjs/common';
import { UsageQuery } from '../../audit';
import { HOUR_MS, MINUTE_MS, type Period, resolvePeriod, platformScope } from '../../kernel';

interface ModelHealth {
  readonly requests: number;
  readonly success: number;
  readonly meanLatencyMs: number;
}

export const healthPeriod = { days: 7 } as const;
const CACHE_MS = MINUTE_MS;
const MAX_MODELS = 500;
/** Fewer requests are not significant, and could reveal who made them. */
const MIN_REQUESTS = 20;

/** Uses UTC days, so that everyone sees the same figures. */
interface WeeklyModelHealth {
  readonly period: Period;
  readonly byModel: ReadonlyMap<string, ModelHealth>;
}

/** Success rates of models over the last seven days across all users; computed at most once per minute. */
@Injectable()
export class ModelHealthService {
  private cache: { readonly until: number; readonly health: Promise<WeeklyModelHealth> } | null = null;

  constructor(private readonly usage: UsageQuery) {}

  lastWeek(): Promise<WeeklyModelHealth> {
    const now = Date.now();
    if (this.cache !== null && this.cache.until > now) return this.cache.health;
    const health = this.load(now);
    this.cache = { until: now + CACHE_MS, health };
    health.catch(() => (this.cache = null));
    return health;
  }

  private async load(now: number): Promise<WeeklyModelHealth> {
    // Complete hours are already aggregated.
    const period = resolvePeriod(healthPeriod, 'UTC', Math.floor(now / HOUR_MS) * HOUR_MS);
    const { groups } = await this.usage.read(platformScope, {
      ...period,
      bucket: 'month',
      zone: 'UTC',
      groupBy: 'model',
      mostGroups: MAX_MODELS,
    });
    const byModel = new Map(
      groups.flatMap(({ value, sums: { requests, failures, latencyMs } }) =>
        value === null || requests < MIN_REQUESTS
          ? []
          : [
              [
                value,
                { requests, success: 1 - failures / requests, meanLatencyMs: latencyMs / requests },
              ] as const,
            ],
      ),
    );
    return { period, byModel };
  }
}
