import { Pool, type PoolClient } from 'pg';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions';
import { monotonicMs, withDeadline } from '../../kernel';
import type { Settings } from '../config';
import type { Metrics } from '../metrics';
import { boundedQuery } from './bounded-query';
import { withSessionSettings } from './connection-url';
import type { Database } from './database';
import { extensionLogin, extensionRole, urlForLogin } from './extension-login';
import { readPool } from './pool-gauges';
import { survivesLostConnections } from './pool-options';

const MOST_CONNECTIONS = 2;
const KEPT_IDLE_MS = 30_000;
/** How long a statement may run, a transaction may rest, and a turn is waited for. */
const STATEMENT_MS = 5_000;
/** The connection is given up where the server itself does not answer any more. */
const ANSWER_MS = 2 * STATEMENT_MS;
const TRANSACTION_MS = 30_000;

/** Statements that would end the transaction, or leave its limits: they are refused with a reason. */
const OF_SESSION =
  /^(?:\s|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)*(begin|start|commit|end|rollback|abort|prepare|set|reset|discard|listen|unlisten|copy)\b/i;

export interface RoleSession {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** The database as one extension sees it: under a login of its own, on few connections of its own, within bounds. */
export class RoleDatabase implements RoleSession {
  private readonly pool: Pool;

  /** They are made at the first query. */
  constructor(
    { source }: Pick<Database, 'source'>,
    private readonly extension: string,
    { masterKey }: Pick<Settings, 'masterKey'>,
  ) {
    const { url } = source.options as PostgresDataSourceOptions;
    if (url === undefined) throw new Error('The database has no address.');
    const login = extensionLogin(extension, url, masterKey);
    this.pool = new Pool({
      ...survivesLostConnections,
      connectionString: withSessionSettings(urlForLogin(url, login), {
        search_path: `${extensionRole(extension)},contract,pg_temp`,
        statement_timeout: STATEMENT_MS,
        lock_timeout: STATEMENT_MS,
        idle_in_transaction_session_timeout: STATEMENT_MS,
        jit: 'off',
        max_parallel_workers_per_gather: 0,
      }),
      application_name: `switchboard-${extension}`,
      max: MOST_CONNECTIONS,
      idleTimeoutMillis: KEPT_IDLE_MS,
      connectionTimeoutMillis: STATEMENT_MS,
      allowExitOnIdle: true,
    });
    this.pool.on('error', () => undefined);
  }

  query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.transaction((session) => session.query<Row>(text, values));
  }

  /** The work is done whole or not at all. */
  async transaction<Result>(work: (session: RoleSession) => Promise<Result>): Promise<Result> {
    const client = await this.connect();
    const session = new OneTransaction(client);
    let lost: Error | boolean = true;
    try {
      await session.begin();
      const result = await withDeadline(TRANSACTION_MS, work(session));
      await session.commit();
      lost = false;
      return result;
    } catch (error) {
      lost = !(await session.rollback());
      throw error;
    } finally {
      client.release(lost);
    }
  }

  readInto(metrics: Metrics): void {
    readPool(metrics, `extension/${this.extension}`, this.pool);
  }

  close(): Promise<void> {
    return this.pool.end();
  }

  private async connect(): Promise<PoolClient> {
    try {
      return await this.pool.connect();
    } catch (cause) {
      throw new Error(
        `The extension ${this.extension}, which has ${MOST_CONNECTIONS} connections, got none: ${(cause as Error).message}`,
        { cause },
      );
    }
  }
}

/** The statements of one transaction; afterwards it takes no more. */
class OneTransaction implements RoleSession {
  private isOpen = true;
  private readonly endsAt = monotonicMs() + TRANSACTION_MS;

  constructor(private readonly client: PoolClient) {}

  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    if (typeof text !== 'string' || !Array.isArray(values)) throw new TypeError('query(text, values)');
    const [, refused] = OF_SESSION.exec(text) ?? [];
    if (refused !== undefined)
      throw new RangeError(
        `${refused.toUpperCase()} is not taken here: the host begins and ends transactions`,
      );
    if (!this.isOpen || monotonicMs() > this.endsAt) throw new Error('The transaction is over.');
    return withDeadline(ANSWER_MS, boundedQuery<Row>(this.client, text, values));
  }

  async begin(): Promise<void> {
    await withDeadline(ANSWER_MS, this.client.query('BEGIN'));
  }

  async commit(): Promise<void> {
    this.isOpen = false;
    const { command } = await withDeadline(ANSWER_MS, this.client.query('COMMIT'));
    // The server answers so where a statement had failed, though the extension caught its error.
    if (command === 'ROLLBACK')
      throw new Error('The transaction was undone, as one of its statements failed.');
    await this.clean();
  }

  /** Whether the connection can be used again. */
  async rollback(): Promise<boolean> {
    this.isOpen = false;
    try {
      await withDeadline(ANSWER_MS, this.client.query('ROLLBACK'));
      await this.clean();
      return true;
    } catch {
      return false;
    }
  }

  /** Settings, temporary tables and locks of a session end with its transaction. */
  private async clean(): Promise<void> {
    await withDeadline(ANSWER_MS, this.client.query('DISCARD ALL'));
  }
}
