import { Injectable } from '@nestjs/common';
import { UsageQuery } from '../../audit';
import { platformScope } from '../../kernel';
import { DAY_MS } from '../lists/days';

export interface ModelHealth {
  readonly requests: number;
  /** The share of requests that were answered. */
  readonly success: number;
  readonly meanLatencyMs: number;
}

const DAYS = 7;
const KEPT_MS = 60_000;
const MOST_MODELS = 500;
/** Fewer requests say nothing, and might say who asked. */
const LEAST_REQUESTS = 20;

/** The success of models over the last seven days, for all callers; computed once a minute at most. */
@Injectable()
export class ModelHealths {
  private kept: { readonly until: number; readonly found: Promise<ReadonlyMap<string, ModelHealth>> } | null =
    null;

  constructor(private readonly usage: UsageQuery) {}

  lastWeek(): Promise<ReadonlyMap<string, ModelHealth>> {
    const now = Date.now();
    if (this.kept !== null && this.kept.until > now) return this.kept.found;
    const found = this.read(now);
    this.kept = { until: now + KEPT_MS, found };
    found.catch(() => (this.kept = null));
    return found;
  }

  private async read(now: number): Promise<ReadonlyMap<string, ModelHealth>> {
    // Whole hours are sums that are there already.
    const to = new Date(Math.floor(now / 3_600_000) * 3_600_000);
    const from = new Date(to.getTime() - DAYS * DAY_MS);
    const { groups } = await this.usage.ask(platformScope, {
      from,
      to,
      bucket: 'month',
      zone: 'UTC',
      groupBy: 'model',
      mostGroups: MOST_MODELS,
    });
    return new Map(
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
  }
}
