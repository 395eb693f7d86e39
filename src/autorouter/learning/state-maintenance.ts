import { Injectable } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { Database, RepeatingJob, type TableRow, type Tx } from '../../platform';
import { calibrate, modelChanged, type RouterState, storedState } from '../engine';
import { autoStateChannel } from './auto-learner';
import { readState } from './state-reader';

/** Number of new examples after which sums are stored; limits what a starting node has to learn. */
const STORE_INTERVAL_EXAMPLES = 50;
const MAX_STATES_PER_RUN = 20;
/** Twice what a state remembers, so that a repeated example is still recognised. */
const RETAINED_EXAMPLES = 16_384;

/** Stores the sums of learned examples, so that nodes need not recompute them. */
@Injectable()
export class StateMaintenance {
  constructor(
    private readonly database: Database,
    private readonly catalogue: CatalogueService,
  ) {}

  @RepeatingJob({ name: 'autorouter-state', cron: '*/5 * * * *', deadlineMs: 240_000 })
  async storeDue(signal: AbortSignal): Promise<void> {
    const due = await this.database.rows<
      TableRow<'autorouter_state', 'organisation_id'>
    >(`SELECT organisation_id FROM autorouter_state
        WHERE version > 0 AND (statistics IS NULL OR version - statistics_version >= ${STORE_INTERVAL_EXAMPLES}
           OR (version > statistics_version AND updated_at < now() - interval '1 day'))
        ORDER BY updated_at LIMIT ${MAX_STATES_PER_RUN}`);
    for (const { organisationId } of due) {
      if (signal.aborted) return;
      await this.store(organisationId);
    }
  }

  /** Idempotent. Examples learned meanwhile are left for the next run. */
  async store(organisationId: number): Promise<void> {
    const learned = await readState(this.database, organisationId);
    if (learned === null) return;
    const { state, version, generation } = learned;
    const upstreams = await this.upstreamsOf(organisationId, state);
    const hasChanges = noteChanges(state, upstreams.before, upstreams.now);
    calibrate(state);
    await this.database.transaction(
      async (tx) => {
        const [, updatedRows] = await tx.query<[object[], number]>(
          `UPDATE autorouter_state
              SET statistics = $4, statistics_version = $2, calibration = $5, upstreams = $6, updated_at = now(),
                  generation = generation + $7
            WHERE organisation_id = $1 AND generation = $3 AND statistics_version <= $2`,
          [
            organisationId,
            version.toString(),
            generation,
            storedState(state),
            state.calibration ?? null,
            upstreams.now,
            hasChanges ? 1 : 0,
          ],
        );
        if (updatedRows === 0) return;
        await prune(tx, organisationId);
        await tx.query('SELECT pg_notify($1, $2)', [autoStateChannel, String(organisationId)]);
      },
      { withoutActivity: 'sums of what was learned are no change by a person' },
    );
  }

  private async upstreamsOf(organisationId: number, { models }: RouterState) {
    const [row] = await this.database.query<{ upstreams: Record<string, string> }>(
      'SELECT upstreams FROM autorouter_state WHERE organisation_id = $1',
      [organisationId],
    );
    const before = row?.upstreams ?? {};
    const now = { ...before };
    for (const name of models.keys()) {
      const resolved = this.catalogue.resolve(name, Date.now());
      if (resolved.kind === 'found')
        now[name] = [...new Set(resolved.lanes.map(({ lane }) => lane.upstreamModel))].sort().join(' ');
    }
    return { before, now };
  }
}

function noteChanges(
  state: RouterState,
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): boolean {
  const changed = Object.keys(now).filter((name) => before[name] !== undefined && before[name] !== now[name]);
  for (const name of changed) modelChanged(state, name, Date.now());
  return changed.length > 0;
}

async function prune(tx: Tx, organisationId: number): Promise<void> {
  await tx.query(
    `UPDATE autorouter_state SET pruned_version = greatest(pruned_version, statistics_version - ${RETAINED_EXAMPLES})
      WHERE organisation_id = $1`,
    [organisationId],
  );
  await tx.query(
    `DELETE FROM autorouter_example e USING autorouter_state s
      WHERE s.organisation_id = $1 AND e.organisation_id = $1 AND e.version <= s.pruned_version`,
    [organisationId],
  );
}
