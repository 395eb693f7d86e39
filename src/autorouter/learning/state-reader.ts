import { setImmediate as yieldTurn } from 'node:timers/promises';
import type { Database, Row } from '../../platform';
import {
  type Calibration,
  emptyState,
  learnAll,
  loadedExample,
  loadedState,
  type RouterState,
  type StoredExample,
  type StoredState,
} from '../engine';

/** A copy of what was learned for one organisation, and how new it is. */
export interface LearnedState {
  readonly state: RouterState;
  readonly version: bigint;
  readonly generation: number;
}

type StateRow = Row<'autorouter_state', 'version, generation, statistics_version'> & {
  readonly statistics: StoredState | null;
  readonly calibration: Calibration | null;
};

type ExampleRow = Row<'autorouter_example', 'version'> & { readonly example: StoredExample };

/** It is as many as a state remembers one by one. */
const REMEMBERED = 8_192;
/** So much is learned before other work has its turn. */
const AT_ONCE = 64;

/** It is null where nothing was ever learned. */
export async function readState(database: Database, organisationId: number): Promise<LearnedState | null> {
  const row = await stateRow(database, organisationId);
  if (row === null) return null;
  const rows = await database.query<ExampleRow>(
    `SELECT version, example FROM (
       SELECT version, example FROM autorouter_example
        WHERE organisation_id = $1 AND version <= $2 ORDER BY version DESC LIMIT ${REMEMBERED}) AS newest
      ORDER BY version`,
    [organisationId, row.version],
  );
  const summed = BigInt(row.statisticsVersion);
  const isSummed = ({ version }: ExampleRow): boolean => BigInt(version) <= summed;
  const state =
    row.statistics === null
      ? emptyState()
      : loadedState(row.statistics, joined(rows.filter(isSummed).map(({ example }) => example)));
  const later = row.statistics === null ? rows : rows.filter((each) => !isSummed(each));
  await learnSlowly(state, later);
  return finished(state, row);
}

/** Learns what is new since the copy was made; null where it has to be read anew. */
export async function catchUp(
  database: Database,
  organisationId: number,
  { state, version, generation }: LearnedState,
): Promise<LearnedState | null> {
  const row = await stateRow(database, organisationId);
  if (row === null || row.generation !== generation || BigInt(row.version) < version) return null;
  const rows = await database.query<ExampleRow>(
    `SELECT version, example FROM autorouter_example
      WHERE organisation_id = $1 AND version > $2 AND version <= $3 ORDER BY version LIMIT ${REMEMBERED + 1}`,
    [organisationId, version.toString(), row.version],
  );
  if (rows.length > REMEMBERED) return null;
  await learnSlowly(state, rows);
  return finished(state, row);
}

function finished(state: RouterState, row: StateRow): LearnedState {
  if (row.calibration === null) delete state.calibration;
  else state.calibration = row.calibration;
  state.version = Number(row.version);
  return { state, version: BigInt(row.version), generation: row.generation };
}

async function stateRow(database: Database, organisationId: number): Promise<StateRow | null> {
  const [row] = await database.rows<StateRow>(
    `SELECT version, generation, statistics, statistics_version, calibration FROM autorouter_state
      WHERE organisation_id = $1`,
    [organisationId],
  );
  return row ?? null;
}

/** Outcomes that came later under an id stand in rows of their own. */
function joined(examples: readonly StoredExample[]): StoredExample[] {
  const byId = new Map<string, StoredExample>();
  for (const example of examples) {
    const known = byId.get(example.id);
    byId.set(example.id, {
      ...example,
      outcomes: known === undefined ? example.outcomes : [...known.outcomes, ...example.outcomes],
    });
  }
  return [...byId.values()];
}

async function learnSlowly(state: RouterState, rows: readonly ExampleRow[]): Promise<void> {
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    learnAll(
      state,
      rows.slice(from, from + AT_ONCE).map(({ example }) => loadedExample(example)),
    );
    await yieldTurn();
  }
}
