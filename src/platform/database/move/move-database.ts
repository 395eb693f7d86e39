import { Client } from 'pg';
import { monotonicMs } from '../../../kernel';
import { copyRows } from './copy-rows';
import {
  digestOf,
  type ForeignKey,
  foreignKeysIn,
  type IndexDescription,
  indexesIn,
  sequencesIn,
  type TableDescription,
  tablesIn,
  tablesWithTriggers,
} from './table-descriptions';
import { renumberOutbox, TAP_TABLES } from './renumber-outbox';

export interface MoveProgress {
  readonly step: 'copies' | 'copied' | 'compares' | 'same';
  readonly table: string;
  readonly rows: number;
  readonly milliseconds: number;
}

export interface MoveOptions {
  /** For the owner of the schema. */
  readonly sourceUrl: string;
  readonly targetUrl: string;
  /** Schemas of extensions, and the target URL for the login that owns the tables of each. */
  readonly extensions: readonly { readonly schema: string; readonly targetUrl: string }[];
  readonly report: (progress: MoveProgress) => void;
}

export interface MoveTotals {
  readonly tables: number;
  readonly rows: number;
}

/** Objects that are dropped or disabled until all rows are copied. */
interface DeferredObjects {
  readonly foreignKeys: readonly ForeignKey[];
  readonly indexes: readonly IndexDescription[];
  readonly triggered: readonly string[];
}

const OWN_SCHEMAS = ['public', 'bullmq'];
const REPORT_EVERY_MS = 10_000;

/** Texts of values have to be the same on both sides, and long statements are expected. */
const SESSION = `SET DateStyle = 'ISO, MDY'; SET IntervalStyle = 'postgres'; SET TimeZone = 'UTC';
  SET bytea_output = 'hex'; SET extra_float_digits = 1; SET statement_timeout = 0; SET lock_timeout = '10s';
  SET idle_in_transaction_session_timeout = 0; SET maintenance_work_mem = '128MB'; SET search_path = pg_catalog`;

/**
 * Copies every row into a database that has our tables and no rows, from one snapshot of the source. Our own tables
 * come last in one transaction, so that an interrupted move can be repeated.
 */
export async function moveDatabase(options: MoveOptions): Promise<MoveTotals> {
  const source = await connect(options.sourceUrl);
  const targets: MoveTarget[] = [];
  try {
    // Rows of an extension are written under its login, since checks of its tables run with the writer's rights.
    for (const { schema, targetUrl } of options.extensions)
      targets.push({ client: await connect(targetUrl), schemas: [schema] });
    const ownTarget = { client: await connect(options.targetUrl), schemas: OWN_SCHEMAS };
    targets.push(ownTarget);
    await source.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const totals = { tables: 0, rows: 0 };
    for (const { client, schemas } of targets) {
      const part = await new Move(source, client, schemas, options.report).run();
      if (client === ownTarget.client) await renumberOutbox(client);
      await client.query('COMMIT');
      totals.tables += part.tables;
      totals.rows += part.rows;
    }
    await ownTarget.client.query('ANALYZE');
    return totals;
  } finally {
    // A copy might still be running: the servers undo what is not committed.
    await Promise.allSettled([source, ...targets.map(({ client }) => client)].map((client) => client.end()));
  }
}

interface MoveTarget {
  readonly client: Client;
  readonly schemas: readonly string[];
}

async function connect(connectionString: string): Promise<Client> {
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

  async run(): Promise<MoveTotals> {
    const tables = await tablesIn(this.source, this.schemas);
    await this.target.query('BEGIN');
    await this.addPartitions(tables);
    this.assertSameTables(tables, await tablesIn(this.target, this.schemas));
    const deferred = new Map<string, DeferredObjects>();
    for (const schema of this.schemas)
      deferred.set(schema, {
        foreignKeys: await foreignKeysIn(this.target, schema),
        indexes: await indexesIn(this.target, schema),
        triggered: await tablesWithTriggers(this.target, schema),
      });
    for (const schema of this.schemas) await this.prepareSchema(schema, tables, deferred.get(schema)!);
    let rows = 0;
    for (const table of tables) rows += await this.copy(table);
    await this.compare(tables);
    for (const schema of this.schemas) await this.restoreSchema(schema, deferred.get(schema)!);
    return { tables: tables.length, rows };
  }

  /** Creates partitions of past and future months that a new database lacks. */
  private async addPartitions(tables: readonly TableDescription[]): Promise<void> {
    const existing = new Set((await tablesIn(this.target, this.schemas)).map(({ place }) => place));
    for (const { place, partitionOf, bound } of tables)
      if (partitionOf !== null && bound !== null && !existing.has(place))
        await this.target.query(`CREATE TABLE ${place} PARTITION OF ${partitionOf} ${bound}`);
  }

  private assertSameTables(
    tables: readonly TableDescription[],
    targetTables: readonly TableDescription[],
  ): void {
    const targetColumns = new Map(targetTables.map(({ place, columns }) => [place, columns.join()]));
    for (const { place, columns } of tables) {
      if (!targetColumns.has(place))
        throw new Error(`The target has no table ${place}, which the source has.`);
      if (targetColumns.get(place) !== columns.join())
        throw new Error(`The table ${place} has other columns at the target than at the source.`);
    }
  }

  /** Rows arrive in any order, triggers ran when they were first written, and indexes are built faster at the end. */
  private async prepareSchema(
    schema: string,
    tables: readonly TableDescription[],
    { foreignKeys, indexes, triggered }: DeferredObjects,
  ): Promise<void> {
    for (const { table, name } of foreignKeys)
      await this.target.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
    for (const { place } of indexes) await this.target.query(`DROP INDEX ${place}`);
    for (const table of triggered) await this.target.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
    const tableNames = tablesOfSchema(schema, tables).map(({ place }) => place);
    if (tableNames.length > 0) await this.target.query(`TRUNCATE ${tableNames.join(', ')}`);
  }

  /** Foreign keys are checked when they are created. */
  private async restoreSchema(
    schema: string,
    { foreignKeys, indexes, triggered }: DeferredObjects,
  ): Promise<void> {
    for (const { place, value } of await sequencesIn(this.source, [schema]))
      if (value !== null && !TAP_TABLES.some((table) => place.startsWith(`public.${table}_`)))
        await this.target.query('SELECT setval($1::regclass, $2, true)', [place, value]);
    for (const { definition } of indexes) await this.target.query(definition);
    for (const table of triggered) await this.target.query(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
    for (const { table, name, definition } of foreignKeys)
      await this.target.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
  }

  private async copy({ place, columns, estimatedRows }: TableDescription): Promise<number> {
    const startedMs = monotonicMs();
    let rows = 0;
    const reportStep = (step: MoveProgress['step']): void =>
      this.report({ step, table: place, rows, milliseconds: monotonicMs() - startedMs });
    const timer = setInterval(() => reportStep('copies'), REPORT_EVERY_MS);
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
    if (rows > 0 || estimatedRows > 0) reportStep('copied');
    return rows;
  }

  private async compare(tables: readonly TableDescription[]): Promise<void> {
    for (const table of tables) {
      const startedMs = monotonicMs();
      const [sourceDigest, targetDigest] = await Promise.all([
        digestOf(this.source, table),
        digestOf(this.target, table),
      ]);
      if (sourceDigest.rows !== targetDigest.rows || sourceDigest.sum !== targetDigest.sum)
        throw new Error(
          `The table ${table.place} is not the same at the target: ${sourceDigest.rows} rows here, ${targetDigest.rows} there.`,
        );
      const rows = Number(sourceDigest.rows);
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

const tablesOfSchema = (schema: string, tables: readonly TableDescription[]): readonly TableDescription[] =>
  tables.filter((table) => table.schema === schema);
