import { setImmediate as yieldTurn } from 'node:timers/promises';
import type { Database, TableRow } from '../../platform';
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

export interface LearnedState {
  readonly state: RouterState;
  readonly version: bigint;
  readonly generation: number;
}

type LearnedStateRow = TableRow<'autorouter_state', 'version, generation, statistics_version'> & {
  readonly statistics: StoredState | null;
  readonly calibration: Calibration | null;
};

type ExampleRow = TableRow<'autorouter_example', 'version'> & { readonly example: StoredExample };

const MAX_REMEMBERED = 8_192;
const BATCH_SIZE = 64;

/** Returns null if nothing was ever learned. */
export async function readState(database: Database, organisationId: number): Promise<LearnedState | null> {
  const row = await stateRow(database, organisationId);
  if (row === null) return null;
  const rows = await database.query<ExampleRow>(
    `SELECT version, example FROM (
       SELECT version, example FROM autorouter_example
        WHERE organisation_id = $1 AND version <= $2 ORDER BY version DESC LIMIT ${MAX_REMEMBERED}) AS newest
      ORDER BY version`,
    [organisationId, row.version],
  );
  const summedVersion = BigInt(row.statisticsVersion);
  const isSummed = ({ version }: ExampleRow): boolean => BigInt(version) <= summedVersion;
  const state =
    row.statistics === null
      ? emptyState()
      : loadedState(row.statistics, joinOutcomes(rows.filter(isSummed).map(({ example }) => example)));
  const later = row.statistics === null ? rows : rows.filter((each) => !isSummed(each));
  await learnInBatches(state, later);
  return toLearnedState(state, row);
}

/** Learns what is new since the copy was made; null if it has to be read completely. */
export async function catchUp(
  database: Database,
  organisationId: number,
  { state, version, generation }: LearnedState,
): Promise<LearnedState | null> {
  const row = await stateRow(database, organisationId);
  if (row === null || row.generation !== generation || BigInt(row.version) < version) return null;
  const rows = await database.query<ExampleRow>(
    `SELECT version, example FROM autorouter_example
      WHERE organisation_id = $1 AND version > $2 AND version <= $3 ORDER BY version LIMIT ${MAX_REMEMBERED + 1}`,
    [organisationId, version.toString(), row.version],
  );
  if (rows.length > MAX_REMEMBERED) return null;
  await learnInBatches(state, rows);
  return toLearnedState(state, row);
}

function toLearnedState(state: RouterState, row: LearnedStateRow): LearnedState {
  if (row.calibration === null) delete state.calibration;
  else state.calibration = row.calibration;
  state.version = Number(row.version);
  return { state, version: BigInt(row.version), generation: row.generation };
}

async function stateRow(database: Database, organisationId: number): Promise<LearnedStateRow | null> {
  const [row] = await database.rows<LearnedStateRow>(
    `SELECT version, generation, statistics, statistics_version, calibration FROM autorouter_state
      WHERE organisation_id = $1`,
    [organisationId],
  );
  return row ?? null;
}

/** Merges rows with the same id: outcomes learned later are stored in a row of their own. */
function joinOutcomes(examples: readonly StoredExample[]): StoredExample[] {
  const byId = new Map<string, StoredExample>();
  for (const example of examples) {
    const existing = byId.get(example.id);
    byId.set(example.id, {
      ...example,
      outcomes: existing === undefined ? example.outcomes : [...existing.outcomes, ...example.outcomes],
    });
  }
  return [...byId.values()];
}

async function learnInBatches(state: RouterState, rows: readonly ExampleRow[]): Promise<void> {
  for (let from = 0; from < rows.length; from += BATCH_SIZE) {
    learnAll(
      state,
      rows.slice(from, from + BATCH_SIZE).map(({ example }) => loadedExample(example)),
    );
    await yieldTurn();
  }
}
