import { insertRequestRecords, type RequestRecord } from '#product/audit';
import { NO_USAGE } from '#product/kernel';
import { aRecord, written } from '../../support/a-record';
import { startTestApp, type TestApp, type TestAppOptions } from '../../support/app';
import { inSession } from '../../support/postgres';
import { TapSink } from '../../support/tap-sink';

export const SENDER = './test/fixtures/extensions/sender.cjs';

/** A service whose extension sends what was settled to a sink. */
export async function openTapped(
  environment: Readonly<Record<string, string>> = {},
  options: TestAppOptions = {},
): Promise<{ app: TestApp; sink: TapSink; close: () => Promise<void> }> {
  const sink = await TapSink.open();
  const app = await startTestApp({
    ...options,
    environment: { EXTENSIONS: SENDER, EXT_SENDER_URL: sink.url, ...environment },
  });
  return {
    app,
    sink,
    close: async () => {
      await app.close();
      await sink.close();
    },
  };
}

/** A record that costs nothing, so that no wallet is concerned. */
export const free = (keyId: number, fields: Partial<RequestRecord> = {}): RequestRecord =>
  aRecord({ ...NO_USAGE, keyId, costNano: 0n, walletId: null, ...fields });

/** Writes records as a settlement does, in one transaction. */
export const settle = ({ database }: Pick<TestApp, 'database'>, records: readonly RequestRecord[]) =>
  database.transaction((tx) => insertRequestRecords(tx, records.map(written), { isTapped: true }));

export interface TapRow {
  readonly failures: number;
  readonly last_error: string | null;
  readonly delivered: string;
  readonly dropped: string;
  readonly claimed: boolean;
}

export async function tapRow({ database }: TestApp, name = 'sender/all'): Promise<TapRow> {
  const [row] = await database.query<TapRow>(
    'SELECT failures, last_error, delivered, dropped, claim IS NOT NULL AS claimed FROM tap WHERE name = $1',
    [name],
  );
  return row!;
}

/** As if the tap had failed so often, and its pause were over. */
export const failedBefore = ({ database }: TestApp, failures: number, name = 'sender/all') =>
  database.query('UPDATE tap SET failures = $2, due_at = now() WHERE name = $1', [name, failures]);

export const outboxSize = async ({ database }: TestApp): Promise<number> =>
  (await database.query('SELECT FROM tap_outbox')).length;

/** What is done in it is committed when a test says so. */
export async function openTransaction<Result>(
  url: string,
  begin: (query: (sql: string, values?: unknown[]) => Promise<unknown>) => Promise<void>,
  meanwhile: () => Promise<Result>,
): Promise<Result> {
  return inSession(url, async (session) => {
    await session.query('BEGIN');
    await begin((sql, values) => session.query(sql, values));
    const result = await meanwhile();
    await session.query('COMMIT');
    return result;
  });
}
