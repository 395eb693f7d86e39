import type { SettledRecord } from './records';

export interface ListOf<Item> {
  readonly items: readonly Item[];
  /** It begins the next page; null at the end. */
  readonly cursor: string | null;
}

export interface RecordQuery {
  readonly from: Date;
  /** It is exclusive. */
  readonly to: Date;
  readonly organisationId?: number;
  readonly keyId?: number;
  /** At most 1,000; left out: 100. */
  readonly limit?: number;
  readonly cursor?: string;
}

export interface RecordsPort {
  /** Newest first. */
  list(query: RecordQuery): Promise<ListOf<SettledRecord>>;
  /** It is null where there is no such request. */
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
  /** It is null where there is no such key. */
  get(id: number): Promise<KeyView | null>;
  /** Newest first. The limit is at most 1,000; left out: 100. */
  list(query: {
    readonly organisationId?: number;
    readonly limit?: number;
    readonly cursor?: string;
  }): Promise<ListOf<KeyView>>;
}

export interface MailPort {
  /** Plain text of at most 100,000 characters; 60 mails a minute. It is sent soon, and tried again where the server of mail is away. */
  send(mail: { readonly to: string; readonly subject: string; readonly text: string }): Promise<void>;
}

export type SqlValue = string | number | bigint | boolean | Date | null | readonly (string | number)[];

/**
 * The tables of the extension, and the views of `PublishedViews`. Times are read as `Date`, exact decimals as texts, and
 * 64-bit integers as numbers; one that a number does not hold exactly is refused.
 */
export interface DatabaseSession {
  /** One statement, which has five seconds and answers at most 10,000 rows. */
  query<Row extends object>(sql: string, values?: readonly SqlValue[]): Promise<Row[]>;
}

export interface DatabasePort extends DatabaseSession {
  /** The work is done whole or not at all, within 30 seconds. In it only the session is asked. */
  transaction<Result>(work: (session: DatabaseSession) => Promise<Result>): Promise<Result>;
}

export interface HttpRequest {
  readonly url: string;
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** At most 60,000; left out: 10,000. */
  readonly timeoutMs?: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Addresses of private networks are refused, but for those that the operator allows in `SUPPLIER_ALLOW`. */
export interface HttpPort {
  /** The answer has at most 4 MiB. Redirects are ordinary answers. 32 requests may be open at once. */
  request(request: HttpRequest, signal?: AbortSignal): Promise<HttpAnswer>;
}

/** The parts of the host that an extension may ask for, by the names that it lists in `needs`. */
export interface Ports {
  readonly 'records.read': RecordsPort;
  readonly 'keys.read': KeysPort;
  readonly 'mail.send': MailPort;
  readonly db: DatabasePort;
  readonly 'http.out': HttpPort;
}

export type Need = keyof Ports;
