import { join } from 'node:path';
import { runChild } from '../../support/child';
import { createTestDatabase } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';
import { startSimulator } from '../../support/simulator';
import { until } from '../../support/until';
import type { Program } from '../../system/program';
import { setTapFailures, freeRecord, openTapFixture, settle, tapRow } from './tap-fixture';

describe('A node that is killed', () => {
  test('delivers records again when it was killed before recording their delivery', async () => {
    const database = await createTestDatabase();
    const supplier = await startSimulator();
    const { app, sink, close } = await openTapFixture({ WORKERS: 'off' }, { sharedDatabase: database });
    const nodes: Program[] = [];
    const start = (): void => {
      const file = join(__dirname, '../boot/service-process.ts');
      const environment = {
        ...app.environment,
        WORKERS: 'inline',
        DATA_FOLDER: makeScratchFolder('switchboard-killed-'),
      };
      nodes.push(runChild(file, [supplier.url], environment));
    };
    try {
      sink.behaviour = () => {
        nodes[0]!.kill();
        return nodes[0]!.ended.then(() => 200);
      };
      const records = [freeRecord(1), freeRecord(1)];
      await settle(app, records);
      start();
      await until(() => sink.accepted.length === 2, 60_000);
      sink.behaviour = () => 200;
      start();
      await app.database.query("UPDATE tap SET claimed_until = now() - interval '1 second'");
      await until(() => sink.accepted.length === 4, 60_000);
      const ids = records.map(({ requestId }) => requestId);
      expect(sink.ids).toEqual([...ids, ...ids]);
    } finally {
      for (const node of nodes) node.kill();
      await Promise.all(nodes.map(({ ended }) => ended));
      await close();
      await supplier.stop();
      await database.drop();
    }
  }, 150_000);
});

describe.each([
  ['hangs', 'no answer within 100 ms'],
  ['throws', 'thrown words'],
  ['nothing', 'it failed without a reason'],
  ['late', 'no answer within 100 ms'],
])('A tap with the fault %s', (fault, error) => {
  test('is reported and harms neither the service nor another tap', async () => {
    const { app, sink, close } = await openTapFixture({ EXT_SENDER_FAULT: fault });
    const unhandled: unknown[] = [];
    const listen = (reason: unknown): unknown => unhandled.push(reason);
    process.on('unhandledRejection', listen);
    try {
      const record = freeRecord(1);
      await settle(app, [record]);
      await until(async () => (await tapRow(app, 'sender/bad')).failures === 1);
      expect((await tapRow(app, 'sender/bad')).last_error).toBe(error);
      await until(() => sink.accepted.length === 1);
      await setTapFailures(app, 1, 'sender/bad');
      await until(async () => (await tapRow(app, 'sender/bad')).failures === 2);
      expect(sink.ids).toEqual([record.requestId]);
      expect((await fetch(`${app.url}/health/live`)).status).toBe(200);
    } finally {
      process.off('unhandledRejection', listen);
      await close();
    }
    expect(unhandled).toEqual([]);
  });
});
