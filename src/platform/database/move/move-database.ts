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
  /** Schemas that the roles of extensions own, which have the same name. */
  readonly extensionSchemas: readonly string[];
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
 * Copies every row into a database that has our tables and nothing in them, in one transaction there: it is moved whole,
 * or it can be begun again. The source is read in one snapshot.
 */
export async function moveDatabase(options: MoveOptions): Promise<Moved> {
  const [source, target] = [await opened(options.sourceUrl), await opened(options.targetUrl)];
  try {
    await source.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const moved = await new Move(source, target, options).run();
    await target.query('COMMIT');
    await target.query('ANALYZE');
    return moved;
  } finally {
    // A copy may be under way: the servers undo what is not committed.
    await Promise.allSettled([source.end(), target.end()]);
  }
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
    private readonly options: MoveOptions,
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
    await this.inEach((schema) => this.open(schema, tables, held.get(schema)!));
    let rows = 0;
    await this.inEach(async (schema) => {
      for (const table of of(schema, tables)) rows += await this.copy(table);
    });
    await this.compare(tables);
    await renumberOutbox(this.target);
    await this.inEach((schema) => this.close(schema, held.get(schema)!));
    return { tables: tables.length, rows };
  }

  private get schemas(): readonly string[] {
    return [...OWN_SCHEMAS, ...this.options.extensionSchemas];
  }

  /** The tables of an extension belong to its role. */
  private async inEach(work: (schema: string) => Promise<void>): Promise<void> {
    for (const schema of this.schemas) {
      const isOfRole = this.options.extensionSchemas.includes(schema);
      if (isOfRole) await this.target.query(`SET LOCAL ROLE ${schema}`);
      await work(schema);
      if (isOfRole) await this.target.query('RESET ROLE');
    }
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
      this.options.report({ step, table: place, rows, milliseconds: monotonicMs() - startedMs });
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
        this.options.report({
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
