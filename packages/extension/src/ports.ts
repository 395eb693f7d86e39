import type { SettledRecord } from './records';

export interface ListOf<Item> {
  readonly items: readonly Item[];
  /** Start of the next page; null at the end. */
  readonly cursor: string | null;
}

export interface RecordQuery {
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
  readonly organisationId?: number;
  readonly keyId?: number;
  /** At most 1,000; defaults to 100. */
  readonly limit?: number;
  readonly cursor?: string;
}

export interface RecordsPort {
  /** Newest first. */
  list(query: RecordQuery): Promise<ListOf<SettledRecord>>;
  /** Returns null if there is no such request. */
  get(requestId: string): Promise<SettledRecord | null>;
}

export interface KeyView {
  readonly id: number;
  readonly name: string;
  readonly status: string;
  readonly user_id: number | null;
  readonly organisation_id: number | null;
  readonly department_id: number | null;
  readonly project_id: number | null;
  readonly created_at: string;
}

export interface KeysPort {
  /** Returns null if there is no such key. */
  get(id: number): Promise<KeyView | null>;
  /** Newest first. The limit is at most 1,000 and defaults to 100. */
  list(query: {
    readonly organisationId?: number;
    readonly limit?: number;
    readonly cursor?: string;
  }): Promise<ListOf<KeyView>>;
}

export interface MailPort {
  /**
   * Sends plain text of at most 100,000 characters; up to 60 emails per minute. Emails are queued, and retried while
   * the mail server is unavailable.
   */
  send(mail: { readonly to: string; readonly subject: string; readonly text: string }): Promise<void>;
}

export type SqlValue = string | number | bigint | boolean | Date | null | readonly (string | number)[];

/**
 * Access to the extension's tables and the views of `PublishedViews`. Times are read as `Date`, exact decimals as
 * strings, and 64-bit integers as numbers; inexact ones are rejected.
 */
export interface DatabaseSession {
  /** Runs one statement, for at most five seconds and 10,000 rows. */
  query<Row extends object>(sql: string, values?: readonly SqlValue[]): Promise<Row[]>;
}

export interface DatabasePort extends DatabaseSession {
  /** Runs the work atomically, within 30 seconds. Use only the session inside it. */
  transaction<Result>(work: (session: DatabaseSession) => Promise<Result>): Promise<Result>;
}

export interface HttpRequest {
  readonly url: string;
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** At most 60,000; defaults to 10,000. */
  readonly timeoutMs?: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** HTTP client. Private network addresses are refused, except those that the operator allows in `SUPPLIER_ALLOW`. */
export interface HttpPort {
  /** Responses are limited to 4 MiB, and 32 requests can be open concurrently. Redirects are not followed. */
  request(request: HttpRequest, signal?: AbortSignal): Promise<HttpAnswer>;
}

/** Parts of the host that an extension can request, by the names that it lists in `needs`. */
export interface Ports {
  readonly 'records.read': RecordsPort;
  readonly 'keys.read': KeysPort;
  readonly 'mail.send': MailPort;
  readonly db: DatabasePort;
  readonly 'http.out': HttpPort;
}

export type Need = keyof Ports;
