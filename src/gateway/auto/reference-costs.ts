import { Injectable, Logger } from '@nestjs/common';
import { monotonicMs } from '../../kernel';
import { Database } from '../../platform';

type Costs = ReadonlyMap<string, number>;

interface Kept {
  costs: Costs;
  readAt: number;
  isReading: boolean;
}

const READ_AGAIN_MS = 10 * 60_000;
/** An organisation with too few requests is read again sooner. */
const READ_SOON_MS = 5_000;
const MOST_ORGANISATIONS = 1_000;
const MOST_REQUESTS = 2_000;
/** A mean of fewer requests is not used. */
const LEAST_REQUESTS = 20;

/**
 * The usual cost of an `auto` request with the organisation's reference model: the mean of the last week's
 * expectations, for all decisions. It is read in the background and never awaited.
 */
@Injectable()
export class ReferenceCosts {
  private readonly kept = new Map<number, Kept>();
  private readonly logger = new Logger(ReferenceCosts.name);

  constructor(private readonly database: Database) {}

  /** In nano-USD; undefined while too little is on record. */
  of(organisationId: number | null, model: string | undefined): number | undefined {
    if (organisationId === null || model === undefined) return undefined;
    const known: Kept = this.kept.get(organisationId) ?? unread();
    this.kept.delete(organisationId);
    this.kept.set(organisationId, known);
    const cost = known.costs.get(model);
    const lasts = cost === undefined ? READ_SOON_MS : READ_AGAIN_MS;
    if (!known.isReading && monotonicMs() - known.readAt > lasts) void this.read(organisationId, known);
    if (this.kept.size > MOST_ORGANISATIONS) {
      const oldest = this.kept.keys().next();
      if (!oldest.done) this.kept.delete(oldest.value);
    }
    return cost;
  }

  private async read(organisationId: number, known: Kept): Promise<void> {
    known.isReading = true;
    try {
      known.costs = await this.meansOf(organisationId);
    } catch (error) {
      this.logger.warn(
        `The usual cost of organisation ${organisationId} cannot be read, the one before stays: ${String(error)}`,
      );
    } finally {
      known.isReading = false;
      known.readAt = monotonicMs();
    }
  }

  private async meansOf(organisationId: number): Promise<Costs> {
    const rows = await this.database.query<{ model: string; mean: number }>(
      `SELECT model, avg(cost)::float8 AS mean
         FROM (SELECT auto_decision->>'ref' AS model,
                      jsonb_path_query_first(auto_decision, '$.candidates[*] ? (@.model == $ref).cost_est',
                        jsonb_build_object('ref', auto_decision->'ref'))::numeric AS cost
                 FROM request_record
                WHERE organisation_id = $1 AND auto_decision IS NOT NULL AND created_at > now() - interval '7 days'
                ORDER BY created_at DESC LIMIT ${MOST_REQUESTS}) latest
        WHERE cost IS NOT NULL GROUP BY 1 HAVING count(*) >= ${LEAST_REQUESTS}`,
      [organisationId],
    );
    return new Map(rows.map(({ model, mean }) => [model, mean]));
  }
}

const unread = (): Kept => ({ costs: new Map<string, number>(), readAt: -Infinity, isReading: false });
