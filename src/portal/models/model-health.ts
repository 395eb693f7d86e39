import { Injectable } from '@nestjs/common';
import { UsageQuery } from '../../audit';
import { HOUR_MS, MINUTE_MS, type Period, periodNamed, platformScope } from '../../kernel';

interface ModelHealth {
  readonly requests: number;
  /** The share of requests that were answered. */
  readonly success: number;
  readonly meanLatencyMs: number;
}

export const week = { days: 7 } as const;
const KEPT_MS = MINUTE_MS;
const MOST_MODELS = 500;
/** Fewer requests say nothing, and might say who asked. */
const LEAST_REQUESTS = 20;

/** Days of UTC, as everybody reads the same figures. */
interface HealthsOfWeek {
  readonly period: Period;
  readonly byModel: ReadonlyMap<string, ModelHealth>;
}

/** The success of models over the last seven days, for all callers; computed once a minute at most. */
@Injectable()
export class ModelHealths {
  private kept: { readonly until: number; readonly found: Promise<HealthsOfWeek> } | null = null;

  constructor(private readonly usage: UsageQuery) {}

  lastWeek(): Promise<HealthsOfWeek> {
    const now = Date.now();
    if (this.kept !== null && this.kept.until > now) return this.kept.found;
    const found = this.read(now);
    this.kept = { until: now + KEPT_MS, found };
    found.catch(() => (this.kept = null));
    return found;
  }

  private async read(now: number): Promise<HealthsOfWeek> {
    // Whole hours are sums that are there already.
    const period = periodNamed(week, 'UTC', Math.floor(now / HOUR_MS) * HOUR_MS);
    const { groups } = await this.usage.ask(platformScope, {
      ...period,
      bucket: 'month',
      zone: 'UTC',
      groupBy: 'model',
      mostGroups: MOST_MODELS,
    });
    const byModel = new Map(
      groups.flatMap(({ value, sums: { requests, failures, latencyMs } }) =>
        value === null || requests < LEAST_REQUESTS
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
