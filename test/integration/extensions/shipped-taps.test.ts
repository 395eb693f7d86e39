import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import type { SettledRecord } from '#extension';
import { loadSettings } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { makeScratchFolder } from '../../support/scratch';
import { TapSink } from '../../support/tap-sink';
import { until } from '../../support/until';
import { setTapFailures, freeRecord, settle, tapRow } from './tap-fixture';

/** Unix time in seconds, the unit of webhook timestamps. */
const startedAt = Math.floor(Date.now() / 1_000);

const scratchFolder = makeScratchFolder('switchboard-taps-');
afterAll(() => rmSync(scratchFolder, { recursive: true, force: true }));

describe('The records file', () => {
  const file = join(scratchFolder, 'records.jsonl');
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ environment: { RECORDS_FILE: file } });
  });
  afterAll(() => app.close());

  const linesOf = (path: string): string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1);
  const idsIn = (path: string): string[] =>
    linesOf(path).map((line) => (JSON.parse(line) as SettledRecord).request_id);
  const settleRecords = async (count: number): Promise<string[]> => {
    const deliveredBefore = Number((await tapRow(app, 'core/file')).delivered);
    const records = Array.from({ length: count }, () => freeRecord(1));
    await settle(app, records);
    await until(async () => Number((await tapRow(app, 'core/file')).delivered) === deliveredBefore + count);
    return records.map(({ requestId }) => requestId);
  };

  test('gets one line per settled request and can be truncated or renamed at any time', async () => {
    const first = await settleRecords(700);
    expect(idsIn(file)).toEqual(first);
    truncateSync(file, 0);
    const afterTruncation = await settleRecords(2);
    expect(idsIn(file)).toEqual(afterTruncation);
    renameSync(file, `${file}.1`);
    const afterRename = await settleRecords(3);
    expect(idsIn(file)).toEqual(afterRename);
    expect(idsIn(`${file}.1`)).toEqual(afterTruncation);
  });

  test('starts a new line after an incomplete one', async () => {
    truncateSync(file, 0);
    appendFileSync(file, '{"request_id":"half');
    const ids = await settleRecords(1);
    const [half, line] = linesOf(file);
    expect(half).toBe('{"request_id":"half');
    expect((JSON.parse(line!) as SettledRecord).request_id).toBe(ids[0]);
  });

  test('does not stop the service when it cannot be written', async () => {
    rmSync(file);
    mkdirSync(file);
    const record = freeRecord(2);
    await settle(app, [record]);
    await until(async () => (await tapRow(app, 'core/file')).failures === 1);
    expect((await tapRow(app, 'core/file')).last_error).toContain('EISDIR');
    rmSync(file, { recursive: true });
    await setTapFailures(app, 1, 'core/file');
    await until(async () => (await tapRow(app, 'core/file')).failures === 0);
    expect(idsIn(file)).toEqual([record.requestId]);
    chmodSync(file, 0o600);
  });
});

describe('HTTP taps', () => {
  const [current, former] = [Buffer.alloc(32, 5), Buffer.alloc(24, 9)].map(
    (key) => `whsec_${key.toString('base64')}`,
  );
  let sink: TapSink;
  let app: TestApp;
  beforeAll(async () => {
    sink = await TapSink.open();
    app = await startTestApp({
      environment: {
        HTTP_TAPS: `siem=${sink.url}?token=in-the-address#timeout=5s`,
        HTTP_TAP_SECRETS: `siem=${current},siem=${former}`,
      },
    });
  });
  afterAll(async () => {
    await app.close();
    await sink.close();
  });

  test('receive batches as signed JSON, with the same id when a batch is repeated', async () => {
    sink.behaviour = (_batch, asked) => (asked === 1 ? 302 : 204);
    const records = [freeRecord(1), freeRecord(1)];
    await settle(app, records);
    await until(async () => (await tapRow(app, 'http/siem')).failures === 1);
    expect((await tapRow(app, 'http/siem')).last_error).toBe('it answered with status 302');
    await setTapFailures(app, 1, 'http/siem');
    await until(() => sink.accepted.length === 2);
    expect(sink.ids).toEqual(records.map(({ requestId }) => requestId));
    const [first, again] = sink.batches;
    expect(again!.headers['webhook-id']).toBe(first!.headers['webhook-id']);
    expect(again!.body).toBe(first!.body);
    for (const { headers, body } of [first!, again!]) {
      // Verified with the Standard Webhooks package: both configured secrets are valid, and no other.
      const fields = headers as Record<string, string>;
      for (const secret of [current!, former!]) {
        expect(new Webhook(secret).verify(body, fields)).toMatchObject({ type: 'requests.settled' });
      }
      expect(() => new Webhook(Buffer.alloc(32, 1).toString('base64')).verify(body, fields)).toThrow();
      expect(() => new Webhook(current!).verify(`${body} `, fields)).toThrow();
      expect(headers['webhook-id']).toMatch(/^msg_[\w-]+$/);
      expect(Number(headers['webhook-timestamp'])).toBeGreaterThanOrEqual(startedAt);
      expect(headers['content-type']).toBe('application/json');
      const { timestamp } = JSON.parse(body) as { timestamp: string };
      expect(timestamp).toBe(
        records
          .map(({ createdAt }) => createdAt.toISOString())
          .sort()
          .at(-1),
      );
    }
  });

  test('are not called again before their Retry-After time', async () => {
    sink.behaviour = () => ({ status: 429, headers: { 'retry-after': '90' } });
    await settle(app, [freeRecord(1)]);
    await until(async () => (await tapRow(app, 'http/siem')).failures === 1);
    const [row] = await app.database.query<{ waits: boolean }>(
      "SELECT due_at >= failed_at + interval '90 seconds' AS waits FROM tap WHERE name = 'http/siem'",
    );
    expect(row!.waits).toBe(true);
  });

  test('are configured in a setting that reports its errors', () => {
    const settingsError = (environment: Record<string, string>): string => {
      try {
        loadSettings({
          HTTP_TAPS: 'a=https://a.example/x',
          HTTP_TAP_SECRETS: `a=${current}`,
          ...environment,
        });
        return 'none';
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(settingsError({})).toBe('none');
    expect(settingsError({ HTTP_TAP_SECRETS: '' })).toContain(
      'HTTP_TAP_SECRETS: has no secret for the tap a',
    );
    expect(settingsError({ HTTP_TAP_SECRETS: 'a=whsec_c2hvcnQ=' })).toContain('24 to 64 bytes');
    const fourSecrets = Array.from({ length: 4 }, () => `a=${current}`).join(',');
    expect(settingsError({ HTTP_TAP_SECRETS: fourSecrets })).toContain('at most three for one name');
    for (const taps of [
      'https://a.example',
      'A=https://a.example',
      'a=ftp://a.example',
      'a=https://a.example#timeout=2m',
      'a=https://a.example#batch=5',
      'a=https://a.example,a=https://b.example',
    ])
      expect(settingsError({ HTTP_TAPS: taps })).toContain('HTTP_TAPS: expected NAME=URL');
  });
});
