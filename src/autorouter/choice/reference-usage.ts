import { Injectable, Logger } from '@nestjs/common';
import { MINUTE_MS, monotonicMs } from '../../kernel';
import { Database } from '../../platform';
import type { UsualTokens } from '../engine/appraise';

type Usage = ReadonlyMap<string, UsualTokens>;

interface Kept {
  usage: Usage;
  readAt: number;
  isReading: boolean;
}

const READ_AGAIN_MS = 10 * MINUTE_MS;
/** An organisation with too few requests is read again sooner. */
const READ_SOON_MS = 5_000;
const MOST_ORGANISATIONS = 1_000;
const MOST_REQUESTS = 2_000;
/** A mean of fewer requests is not used. */
const LEAST_REQUESTS = 20;
const nothing: Usage = new Map();

/**
 * The tokens that an `auto` request of an organisation usually takes with its reference model: the mean of the last
 * week. Tokens are kept rather than their cost, so that a change of the price counts at once. They are read in the
 * background and never awaited.
 */
@Injectable()
export class ReferenceUsage {
  private readonly kept = new Map<number, Kept>();
  private readonly logger = new Logger(ReferenceUsage.name);

  constructor(private readonly database: Database) {}

  /** Usage is kept by reference model; those with too little on record are not there. */
  of(organisationId: number | null, model: string | undefined): Usage {
    if (organisationId === null || model === undefined) return nothing;
    const known: Kept = this.kept.get(organisationId) ?? unread();
    this.kept.delete(organisationId);
    this.kept.set(organisationId, known);
    const lasts = known.usage.has(model) ? READ_AGAIN_MS : READ_SOON_MS;
    if (!known.isReading && monotonicMs() - known.readAt > lasts) void this.read(organisationId, known);
    if (this.kept.size > MOST_ORGANISATIONS) {
      const oldest = this.kept.keys().next();
      if (!oldest.done) this.kept.delete(oldest.value);
    }
    return known.usage;
  }

  private async read(organisationId: number, known: Kept): Promise<void> {
    known.isReading = true;
    try {
      known.usage = await this.meansOf(organisationId);
    } catch (error) {
      this.logger.warn(
        `The usual tokens of organisation ${organisationId} cannot be read, those before stay: ${String(error)}`,
      );
    } finally {
      known.isReading = false;
      known.readAt = monotonicMs();
    }
  }

  /** Its own answers are counted; where another model answered, the output that was expected of it is. */
  private async meansOf(organisationId: number): Promise<Usage> {
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
                ORDER BY created_at DESC LIMIT ${MOST_REQUESTS}) latest
        WHERE output IS NOT NULL GROUP BY 1 HAVING count(*) >= ${LEAST_REQUESTS}`,
      [organisationId],
    );
    return new Map(rows.map(({ model, ...tokens }) => [model, tokens]));
  }
}

const unread = (): Kept => ({ usage: nothing, readAt: -Infinity, isReading: false });
