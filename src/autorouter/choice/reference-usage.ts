import { Injectable, Logger } from '@nestjs/common';
import { MINUTE_MS, monotonicMs } from '../../kernel';
import { Database } from '../../platform';
import type { UsualTokens } from '../engine/appraise';

type UsualTokensByModel = ReadonlyMap<string, UsualTokens>;

interface CachedUsage {
  usage: UsualTokensByModel;
  readAt: number;
  isReading: boolean;
}

const REFRESH_INTERVAL_MS = 10 * MINUTE_MS;
const EARLY_REFRESH_INTERVAL_MS = 5_000;
const MAX_ORGANISATIONS = 1_000;
const MAX_REQUESTS = 2_000;
const MIN_REQUESTS = 20;
const noUsage: UsualTokensByModel = new Map();

/**
 * The tokens of an organisation's `auto` requests with its reference model: the mean of the last week, read in the
 * background. Tokens rather than costs are cached, so that a price change takes effect immediately.
 */
@Injectable()
export class ReferenceUsage {
  private readonly cache = new Map<number, CachedUsage>();
  private readonly logger = new Logger(ReferenceUsage.name);

  constructor(private readonly database: Database) {}

  /** Usage by reference model; models with too few requests are absent. */
  of(organisationId: number | null, model: string | undefined): UsualTokensByModel {
    if (organisationId === null || model === undefined) return noUsage;
    const cached: CachedUsage = this.cache.get(organisationId) ?? emptyUsage();
    this.cache.delete(organisationId);
    this.cache.set(organisationId, cached);
    const maxAgeMs = cached.usage.has(model) ? REFRESH_INTERVAL_MS : EARLY_REFRESH_INTERVAL_MS;
    if (!cached.isReading && monotonicMs() - cached.readAt > maxAgeMs)
      void this.refresh(organisationId, cached);
    if (this.cache.size > MAX_ORGANISATIONS) {
      const oldest = this.cache.keys().next();
      if (!oldest.done) this.cache.delete(oldest.value);
    }
    return cached.usage;
  }

  private async refresh(organisationId: number, cached: CachedUsage): Promise<void> {
    cached.isReading = true;
    try {
      cached.usage = await this.meansOf(organisationId);
    } catch (error) {
      this.logger.warn(
        `The usual tokens of organisation ${organisationId} cannot be read, those before stay: ${String(error)}`,
      );
    } finally {
      cached.isReading = false;
      cached.readAt = monotonicMs();
    }
  }

  /** Uses the reference model's own output if it answered, otherwise the output that was predicted for it. */
  private async meansOf(organisationId: number): Promise<UsualTokensByModel> {
    const rows = await this.database.query<UsualTokens & { readonly model: string }>(
      `SELECT model, avg(input)::float8 AS input, avg(cached)::float8 AS cached, avg(output)::float8 AS output
         FROM (SELECT auto_decision->>'ref' AS model,
                      input_tokens + cache_write_tokens + cache_write_long_tokens AS input,
                      cache_read_tokens AS cached,
                      CASE WHEN coalesce(auto_decision->>'answered_by', auto_decision->>'chosen') = auto_decision->>'ref'
                           THEN output_tokens + reasoning_tokens
                           ELSE (auto_decision->>'ref_tokens_out')::float8 END AS output
                 FROM request_record
                WHERE organisation_id = $1 AND auto_decision IS NOT NULL AND created_at > now() - interval '7 days'
                  AND status < 400
                ORDER BY created_at DESC LIMIT ${MAX_REQUESTS}) latest
        WHERE output IS NOT NULL GROUP BY 1 HAVING count(*) >= ${MIN_REQUESTS}`,
      [organisationId],
    );
    return new Map(rows.map(({ model, ...tokens }) => [model, tokens]));
  }
}

const emptyUsage = (): CachedUsage => ({ usage: noUsage, readAt: -Infinity, isReading: false });
