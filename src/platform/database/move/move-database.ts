import { Client } from 'pg';
import { monotonicMs } from '../../../kernel';
import { copyRows } from './copy-rows';
import {
  digestOf,
  type ForeignKey,
  foreignKeysIn,
  type IndexFacts,
  indexesIn,
  sequencesIn,
  type TableFacts,
  tablesIn,
  triggeredIn,
} from './table-facts';
import { renumberOutbox, TAP_TABLES } from './tap-places';

export interface MoveProgress {
  readonly step: 'copies' | 'copied' | 'compares' | 'same';
  readonly table: string;
  readonly rows: number;
  readonly milliseconds: number;
}

export interface MoveOptions {
  /** As the owner of the schema connects. */
  readonly sourceUrl: string;
  readonly targetUrl: string;
  /** Schemas of extensions, and the address of the target for the login that owns the tables of each. */
  readonly extensions: readonly { readonly schema: string; readonly targetUrl: string }[];
  readonly report: (progress: MoveProgress) => void;
}

export interface Moved {
  readonly tables: number;
  readonly rows: number;
}

/** What rows that are copied do without until all of them are there. */
interface HeldOff {
  readonly foreignKeys: readonly ForeignKey[];
  readonly indexes: readonly IndexFacts[];
  readonly triggered: readonly string[];
}

const OWN_SCHEMAS = ['public', 'bullmq'];
const REPORT_EVERY_MS = 10_000;

/** Texts of values have to be the same on both sides, and a long statement is no fault. */
const SESSION = `SET DateStyle = 'ISO, MDY'; SET IntervalStyle = 'postgres'; SET TimeZone = 'UTC';
  SET bytea_output = 'hex'; SET extra_float_digits = 1; SET statement_timeout = 0; SET lock_timeout = '10s';
  SET idle_in_transaction_session_timeout = 0; SET maintenance_work_mem = '128MB'; SET search_path = pg_catalog`;

/**
 * Copies every row into a database that has our tables and nothing in them. Our own tables come last, in one transaction:
 * a move that was interrupted can be begun again. The source is read in one snapshot.
 */
export async function moveDatabase(options: MoveOptions): Promise<Moved> {
  const source = await opened(options.sourceUrl);
  const targets: Target[] = [];
  try {
    // Rows of an extension are written under its login, as checks of its tables run with the rights of the writer.
    for (const { schema, targetUrl } of options.extensions)
      targets.push({ client: await opened(targetUrl), schemas: [schema] });
    const own = { client: await opened(options.targetUrl), schemas: OWN_SCHEMAS };
    targets.push(own);
    await source.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const moved = { tables: 0, rows: 0 };
    for (const { client, schemas } of targets) {
      const part = await new Move(source, client, schemas, options.report).run();
      if (client === own.client) await renumberOutbox(client);
      await client.query('COMMIT');
      moved.tables += part.tables;
      moved.rows += part.rows;
    }
    await own.client.query('ANALYZE');
    return moved;
  } finally {
    // A copy may be under way: the servers undo what is not committed.
    await Promise.allSettled([source, ...targets.map(({ client }) => client)].map((client) => client.end()));
  }
}

/** A connection to the target, and the schemas whose tables its login owns. */
interface Target {
  readonly client: Client;
  readonly schemas: readonly string[];
}

async function opened(connectionString: string): Promise<Client> {
  const client = new Client({
    connectionString,
    application_name: 'switchboard-move',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  client.on('error', () => undefined);
  await client.connect();
  await client.query(SESSION);
  return client;
}

class Move {
  constructor(
    private readonly source: Client,
    private readonly target: Client,
    private readonly schemas: readonly string[],
    private readonly report: MoveOptions['report'],
  ) {}

  async run(): Promise<Moved> {
    const tables = await tablesIn(this.source, this.schemas);
    await this.target.query('BEGIN');
    await this.addPartitions(tables);
    this.refuseOthers(tables, await tablesIn(this.target, this.schemas));
    const held = new Map<string, HeldOff>();
    for (const schema of this.schemas)
      held.set(schema, {
        foreignKeys: await foreignKeysIn(this.target, schema),
        indexes: await indexesIn(this.target, schema),
        triggered: await triggeredIn(this.target, schema),
      });
    for (const schema of this.schemas) await this.open(schema, tables, held.get(schema)!);
    let rows = 0;
    for (const table of tables) rows += await this.copy(table);
    await this.compare(tables);
    for (const schema of this.schemas) await this.close(schema, held.get(schema)!);
    return { tables: tables.length, rows };
  }

  /** Months that have gone by, or are to come, have partitions that a new database lacks. */
  private async addPartitions(tables: readonly TableFacts[]): Promise<void> {
    const there = new Set((await tablesIn(this.target, this.schemas)).map(({ place }) => place));
    for (const { place, partitionOf, bound } of tables)
      if (partitionOf !== null && bound !== null && !there.has(place))
        await this.target.query(`CREATE TABLE ${place} PARTITION OF ${partitionOf} ${bound}`);
  }

  private refuseOthers(tables: readonly TableFacts[], there: readonly TableFacts[]): void {
    const known = new Map(there.map(({ place, columns }) => [place, columns.join()]));
    for (const { place, columns } of tables) {
      if (!known.has(place)) throw new Error(`The target has no table ${place}, which the source has.`);
      if (known.get(place) !== columns.join())
        throw new Error(`The table ${place} has other columns at the target than at the source.`);
    }
  }

  /** Rows come in any order, triggers had their say when they were written, and indexes are quicker made at the end. */
  private async open(
    schema: string,
    tables: readonly TableFacts[],
    { foreignKeys, indexes, triggered }: HeldOff,
  ): Promise<void> {
    for (const { table, name } of foreignKeys)
      await this.target.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
    for (const { place } of indexes) await this.target.query(`DROP INDEX ${place}`);
    for (const table of triggered) await this.target.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
    const places = of(schema, tables).map(({ place }) => place);
    if (places.length > 0) await this.target.query(`TRUNCATE ${places.join(', ')}`);
  }

  /** Foreign keys are checked as they are made. */
  private async close(schema: string, { foreignKeys, indexes, triggered }: HeldOff): Promise<void> {
    for (const { place, value } of await sequencesIn(this.source, [schema]))
      if (value !== null && !TAP_TABLES.some((table) => place.startsWith(`public.${table}_`)))
        await this.target.query('SELECT setval($1::regclass, $2, true)', [place, value]);
    for (const { definition } of indexes) await this.target.query(definition);
    for (const table of triggered) await this.target.query(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
    for (const { table, name, definition } of foreignKeys)
      await this.target.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
  }

  private async copy({ place, columns, estimatedRows }: TableFacts): Promise<number> {
    const startedMs = monotonicMs();
    let rows = 0;
    const tell = (step: MoveProgress['step']): void =>
      this.report({ step, table: place, rows, milliseconds: monotonicMs() - startedMs });
    const timer = setInterval(() => tell('copies'), REPORT_EVERY_MS);
    const list = columns.length === 0 ? '' : `(${columns.join(', ')})`;
    try {
      await copyRows(
        this.source,
        this.target,
        { out: `COPY ${place} ${list} TO STDOUT`, in: `COPY ${place} ${list} FROM STDIN` },
        (count) => (rows += count),
      );
    } finally {
      clearInterval(timer);
    }
    if (rows > 0 || estimatedRows > 0) tell('copied');
    return rows;
  }

  private async compare(tables: readonly TableFacts[]): Promise<void> {
    for (const table of tables) {
      const startedMs = monotonicMs();
      const [ours, theirs] = await Promise.all([digestOf(this.source, table), digestOf(this.target, table)]);
      if (ours.rows !== theirs.rows || ours.sum !== theirs.sum)
        throw new Error(
          `The table ${table.place} is not the same at the target: ${ours.rows} rows here, ${theirs.rows} there.`,
        );
      const rows = Number(ours.rows);
      if (rows > 0)
        this.report({
          step: 'same',
          table: table.place,
          rows,
          milliseconds: monotonicMs() - startedMs,
        });
    }
  }
}

const of = (schema: string, tables: readonly TableFacts[]): readonly TableFacts[] =>
  tables.filter((table) => table.schema === schema);
