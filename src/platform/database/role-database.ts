import { Pool, type PoolClient } from 'pg';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions';
import { monotonicMs, withDeadline } from '../../kernel';
import type { Settings } from '../config';
import type { Metrics } from '../metrics';
import { boundedQuery } from './bounded-query';
import { withSessionSettings } from './connection-url';
import type { Database } from './database';
import { extensionLogin, extensionRole, urlForLogin } from './extension-login';
import { updatePoolGauges } from './pool-gauges';
import { resilientPoolOptions } from './pool-options';

const MAX_CONNECTIONS = 2;
const IDLE_TIMEOUT_MS = 30_000;
/** Maximum time for a statement, an idle transaction, and waiting for a connection. */
const STATEMENT_TIMEOUT_MS = 5_000;
/** Time after which the connection is given up because the server does not respond. */
const RESPONSE_TIMEOUT_MS = 2 * STATEMENT_TIMEOUT_MS;
const TRANSACTION_TIMEOUT_MS = 30_000;

/** Statements that would end the transaction or escape its limits; rejected with a reason. */
const SESSION_STATEMENT =
  /^(?:\s|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)*(begin|start|commit|end|rollback|abort|prepare|set|reset|discard|listen|unlisten|copy)\b/i;

export interface RoleSession {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** An extension's view of the database: its own login on a few connections, within limits. */
export class RoleDatabase implements RoleSession {
  private readonly pool: Pool;

  /** Connections are opened at the first query. */
  constructor(
    { source }: Pick<Database, 'source'>,
    private readonly extension: string,
    { masterKey }: Pick<Settings, 'masterKey'>,
  ) {
    const { url } = source.options as PostgresDataSourceOptions;
    if (url === undefined) throw new Error('The database has no address.');
    const login = extensionLogin(extension, url, masterKey);
    this.pool = new Pool({
      ...resilientPoolOptions,
      connectionString: withSessionSettings(urlForLogin(url, login), {
        search_path: `${extensionRole(extension)},contract,pg_temp`,
        statement_timeout: STATEMENT_TIMEOUT_MS,
        lock_timeout: STATEMENT_TIMEOUT_MS,
        idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
        jit: 'off',
        max_parallel_workers_per_gather: 0,
      }),
      application_name: `switchboard-${extension}`,
      max: MAX_CONNECTIONS,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
      connectionTimeoutMillis: STATEMENT_TIMEOUT_MS,
      allowExitOnIdle: true,
    });
    this.pool.on('error', () => undefined);
  }

  query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.transaction((session) => session.query<Row>(text, values));
  }

  /** Runs the work completely or not at all. */
  async transaction<Result>(work: (session: RoleSession) => Promise<Result>): Promise<Result> {
    const client = await this.connect();
    const session = new TransactionSession(client);
    let lost: Error | boolean = true;
    try {
      await session.begin();
      const result = await withDeadline(TRANSACTION_TIMEOUT_MS, work(session));
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

  updateGauges(metrics: Metrics): void {
    updatePoolGauges(metrics, `extension/${this.extension}`, this.pool);
  }

  close(): Promise<void> {
    return this.pool.end();
  }

  private async connect(): Promise<PoolClient> {
    try {
      return await this.pool.connect();
    } catch (cause) {
      throw new Error(
        `The extension ${this.extension}, which has ${MAX_CONNECTIONS} connections, got none: ${(cause as Error).message}`,
        { cause },
      );
    }
  }
}

/** Statements of one transaction; rejects further ones once it is over. */
class TransactionSession implements RoleSession {
  private isOpen = true;
  private readonly endsAt = monotonicMs() + TRANSACTION_TIMEOUT_MS;

  constructor(private readonly client: PoolClient) {}

  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    if (typeof text !== 'string' || !Array.isArray(values)) throw new TypeError('query(text, values)');
    const [, keyword] = SESSION_STATEMENT.exec(text) ?? [];
    if (keyword !== undefined)
      throw new RangeError(
        `${keyword.toUpperCase()} is not taken here: the host begins and ends transactions`,
      );
    if (!this.isOpen || monotonicMs() > this.endsAt) throw new Error('The transaction is over.');
    return withDeadline(RESPONSE_TIMEOUT_MS, boundedQuery<Row>(this.client, text, values));
  }

  async begin(): Promise<void> {
    await withDeadline(RESPONSE_TIMEOUT_MS, this.client.query('BEGIN'));
  }

  async commit(): Promise<void> {
    this.isOpen = false;
    const { command } = await withDeadline(RESPONSE_TIMEOUT_MS, this.client.query('COMMIT'));
    // The server responds with ROLLBACK if a statement had failed, even if the extension caught its error.
    if (command === 'ROLLBACK')
      throw new Error('The transaction was undone, as one of its statements failed.');
    await this.resetSession();
  }

  /** Whether the connection can be used again. */
  async rollback(): Promise<boolean> {
    this.isOpen = false;
    try {
      await withDeadline(RESPONSE_TIMEOUT_MS, this.client.query('ROLLBACK'));
      await this.resetSession();
      return true;
    } catch {
      return false;
    }
  }

  /** Settings, temporary tables and locks of a session end with its transaction. */
  private async resetSession(): Promise<void> {
    await withDeadline(RESPONSE_TIMEOUT_MS, this.client.query('DISCARD ALL'));
  }
}
