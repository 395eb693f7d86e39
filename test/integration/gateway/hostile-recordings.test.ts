import { audioKindOf, audioLengthOf } from '#inside/gateway/media/audio-length';
import { AudioMeter } from '#inside/gateway/media/audio-meter';
import { createHostileRecording, hostileRecordings } from '../../support/hostile-recordings';
import { originalRecordings, readRecording } from '../../support/forged-recordings';

const meter = new AudioMeter();
afterAll(() => meter.onModuleDestroy());

/** Number of event loop turns while `work` runs. */
async function turnsWhile(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work;
  isOver = true;
  return turns;
}

// "One hostile recording delays others by 136–616 ms … parsing yields or runs in a worker"
test.each(hostileRecordings)(
  'event loop stays responsive while a hostile recording is measured: %s',
  async (name) => {
    const file = createHostileRecording(name, 1024 * 1024);
    const measurement = meter.measure([file], null);
    expect(await turnsWhile(measurement)).toBeGreaterThan(0);
    expect(await measurement).toEqual([audioLengthOf(audioKindOf(file)!, file)]);
  },
);

test('many small recordings of one request are measured together in the worker', async () => {
  const files = Array.from({ length: 64 }, () => createHostileRecording('Ogg with tiny pages', 32 * 1024));
  const measurement = meter.measure(files, 'webm');
  expect(await turnsWhile(measurement)).toBeGreaterThan(0);
  expect(await measurement).toHaveLength(files.length);
});

test('honest recordings get the same length in the worker as in place', async () => {
  const files = originalRecordings.map(readRecording).map((file) => Buffer.concat([file, file, file, file]));
  const lengths = await Promise.all(files.map((file) => meter.measure([file], 'webm')));
  expect(lengths).toEqual(files.map((file) => [audioLengthOf(audioKindOf(file) ?? 'webm', file)]));
});

test('file that is not a recording has no length', async () => {
  expect(await meter.measure([Buffer.alloc(1024 * 1024, 'text')], null)).toEqual([null]);
});
