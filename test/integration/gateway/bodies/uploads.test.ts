import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runChild } from '../../../support/child';
import type { Program } from '../../../system/program';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres';
import { mp3Of } from '../../../support/recordings';
import { startSimulator, type Simulator } from '../../../support/simulator';
import { until } from '../../../support/until';

const MIB = 1024 * 1024;

/** Runs the service in its own process, so that its temporary folder can be set. */
describe('Uploaded files', () => {
  let database: TestDatabase;
  let supplier: Simulator;
  let service: Program;
  let folder: string;
  let url = '';
  let key = '';

  beforeAll(async () => {
    [database, supplier] = await Promise.all([createTestDatabase(), startSimulator()]);
    folder = mkdtempSync(join(tmpdir(), 'switchboard-uploads-'));
    for (const name of ['data', 'temporary']) mkdirSync(join(folder, name));
    service = runChild(join(__dirname, '../../boot/service-process.ts'), [supplier.url], {
      NODE_ENV: 'test',
      PORT: '0',
      METRICS_PORT: '0',
      LOG_LEVEL: 'error',
      LOG_FORMAT: 'json',
      DATA_FOLDER: join(folder, 'data'),
      TMPDIR: join(folder, 'temporary'),
      DATABASE_URL: database.url,
      MIGRATION_DATABASE_URL: database.ownerUrl,
      SANDBOX: 'off',
    });
    [, url = ''] = await service.find(/ is ready at (http:\S+)/);
    [, key = ''] = await service.find(/demo key +(svc_\w+)/);
    // The audit entries of the first start are sealed, and the seal is anchored in a file.
    await until(() => existsSync(join(folder, 'data', 'audit', 'anchor.jsonl')));
  });
  afterAll(async () => {
    await service.stop();
    await supplier.stop();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  const send = async (file: Buffer): Promise<number> => {
    const form = new FormData();
    form.append('model', 'sim-transcribe');
    form.append('file', new Blob([Uint8Array.from(file)]), 'speech.mp3');
    const answer = await fetch(`${url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    });
    await answer.text();
    return answer.status;
  };
  const mp3 = (bytes: number): Buffer => {
    const head = mp3Of({ frames: 4 });
    return Buffer.concat([head, Buffer.alloc(bytes - head.length)]);
  };
  const files = (): string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();

  test('upload leaves no file on disk: served, too large, not a recording, or broken off', async () => {
    const filesBefore = files();
    expect(await send(mp3(20 * MIB))).toBe(200);
    expect(await send(mp3(26 * MIB))).toBe(413);
    expect(await send(Buffer.from('<!doctype html>'))).toBe(415);

    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(
      `POST /v1/audio/transcriptions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
        `content-type: multipart/form-data; boundary=x\r\ncontent-length: ${20 * MIB}\r\n\r\n` +
        `--x\r\ncontent-disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n`,
    );
    if (!socket.write(Buffer.alloc(8 * MIB))) await once(socket, 'drain');
    expect(files()).toEqual(filesBefore);
    socket.destroy();
    // A response now comes after the disconnect has been processed.
    expect(await send(mp3(MIB))).toBe(200);
    expect(files()).toEqual(filesBefore);
  });
});
