import { insertRequestRecords, type RequestRecord } from '#product/audit';
import { NO_USAGE } from '#product/kernel';
import { createRecord, toWrittenRecord } from '../../support/record-fixture';
import { startTestApp, type TestApp, type TestAppOptions } from '../../support/app';
import { inSession } from '../../support/postgres';
import { TapSink } from '../../support/tap-sink';

export const SENDER = './test/fixtures/extensions/sender.cjs';

/** Starts a service whose extension sends settled records to a sink. */
export async function openTapFixture(
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

/** Creates a record without a cost, so that no wallet is involved. */
export const freeRecord = (keyId: number, fields: Partial<RequestRecord> = {}): RequestRecord =>
  createRecord({ ...NO_USAGE, keyId, costNano: 0n, walletId: null, ...fields });

/** Inserts records in one transaction, like a settlement. */
export const settle = ({ database }: Pick<TestApp, 'database'>, records: readonly RequestRecord[]) =>
  database.transaction((tx) => insertRequestRecords(tx, records.map(toWrittenRecord), { isTapped: true }));

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

/** Sets the failure count of a tap and ends its back-off. */
export const setTapFailures = ({ database }: TestApp, failures: number, name = 'sender/all') =>
  database.query('UPDATE tap SET failures = $2, due_at = now() WHERE name = $1', [name, failures]);

export const outboxSize = async ({ database }: TestApp): Promise<number> =>
  (await database.query('SELECT FROM tap_outbox')).length;

/** Keeps a transaction open while `meanwhile` runs, then commits it. */
export async function duringTransaction<Result>(
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
