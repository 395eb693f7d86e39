import { Injectable } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { Database, RepeatingJob, type Row, type Tx } from '../../platform';
import { calibrate, modelChanged, type RouterState, storedState } from '../engine';
import { autoStateChannel } from './auto-learner';
import { readState } from './state-reader';

/** Sums are stored after so many examples: a node that starts has no more to learn anew. */
const LEARNED_BETWEEN = 50;
const MOST_AT_ONCE = 20;
/** That is twice what a state remembers: an example that is learned again is still known. */
const KEPT_EXAMPLES = 16_384;

/** Stores the sums of what was learned, so that nodes need not add everything up themselves. */
@Injectable()
export class StateUpkeep {
  constructor(
    private readonly database: Database,
    private readonly catalogue: CatalogueService,
  ) {}

  @RepeatingJob({ name: 'autorouter-state', cron: '*/5 * * * *', deadlineMs: 240_000 })
  async storeDue(signal: AbortSignal): Promise<void> {
    const due = await this.database.rows<
      Row<'autorouter_state', 'organisation_id'>
    >(`SELECT organisation_id FROM autorouter_state
        WHERE version > 0 AND (statistics IS NULL OR version - statistics_version >= ${LEARNED_BETWEEN}
           OR (version > statistics_version AND updated_at < now() - interval '1 day'))
        ORDER BY updated_at LIMIT ${MOST_AT_ONCE}`);
    for (const { organisationId } of due) {
      if (signal.aborted) return;
      await this.store(organisationId);
    }
  }

  /** Safe to repeat. Examples that are learned meanwhile stay for the next time. */
  async store(organisationId: number): Promise<void> {
    const learned = await readState(this.database, organisationId);
    if (learned === null) return;
    const { state, version, generation } = learned;
    const upstreams = await this.upstreamsOf(organisationId, state);
    const changed = noteChanges(state, upstreams.before, upstreams.now);
    calibrate(state);
    await this.database.transaction(
      async (tx) => {
        const [, stored] = await tx.query<[object[], number]>(
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
            changed ? 1 : 0,
          ],
        );
        if (stored === 0) return;
        await prune(tx, organisationId);
        await tx.query('SELECT pg_notify($1, $2)', [autoStateChannel, String(organisationId)]);
      },
      { withoutActivity: 'sums of what was learned are no change by a person' },
    );
  }

  /** Each model that was learned about has the suppliers' models that stand behind it. */
  private async upstreamsOf(organisationId: number, { models }: RouterState) {
    const [row] = await this.database.query<{ upstreams: Record<string, string> }>(
      'SELECT upstreams FROM autorouter_state WHERE organisation_id = $1',
      [organisationId],
    );
    const before = row?.upstreams ?? {};
    const now = { ...before };
    for (const name of models.keys()) {
      const found = this.catalogue.resolve(name, Date.now());
      if (found.kind === 'found')
        now[name] = [...new Set(found.lanes.map(({ lane }) => lane.upstreamModel))].sort().join(' ');
    }
    return { before, now };
  }
}

/** A model behind which another one stands now has to prove itself again. */
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
    `UPDATE autorouter_state SET pruned_version = greatest(pruned_version, statistics_version - ${KEPT_EXAMPLES})
      WHERE organisation_id = $1`,
    [organisationId],
  );
  await tx.query(
    `DELETE FROM autorouter_example e USING autorouter_state s
      WHERE s.organisation_id = $1 AND e.organisation_id = $1 AND e.version <= s.pruned_version`,
    [organisationId],
  );
}
