import { audioKindOf, audioLengthOf } from '#inside/gateway/media/audio-length';
import { AudioMeter } from '#inside/gateway/media/audio-meter';
import { hostileRecording, hostileRecordings } from '../../support/hostile-recordings';
import { honestRecordings, recordingNamed } from '../../support/forged-recordings';

const meter = new AudioMeter();
afterAll(() => meter.onModuleDestroy());

/** How often others get their turn while a recording is measured. */
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
  'others get their turn while a hostile recording is measured: %s',
  async (name) => {
    const file = hostileRecording(name, 1024 * 1024);
    const measured = meter.measure([file], null);
    expect(await turnsWhile(measured)).toBeGreaterThan(0);
    expect(await measured).toEqual([audioLengthOf(audioKindOf(file)!, file)]);
  },
);

test('many small recordings of one request count together', async () => {
  const files = Array.from({ length: 64 }, () => hostileRecording('Ogg with tiny pages', 32 * 1024));
  const measured = meter.measure(files, 'webm');
  expect(await turnsWhile(measured)).toBeGreaterThan(0);
  expect(await measured).toHaveLength(files.length);
});

test('honest recordings are as long as when they are measured in place, each in its own request', async () => {
  const files = honestRecordings.map(recordingNamed).map((file) => Buffer.concat([file, file, file, file]));
  const measured = await Promise.all(files.map((file) => meter.measure([file], 'webm')));
  expect(measured).toEqual(files.map((file) => [audioLengthOf(audioKindOf(file) ?? 'webm', file)]));
});

test('what is no recording has no length', async () => {
  expect(await meter.measure([Buffer.alloc(1024 * 1024, 'text')], null)).toEqual([null]);
});
