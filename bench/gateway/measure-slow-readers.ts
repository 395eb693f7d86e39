import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { requestBytes } from './caller';
import type { GatewayFigure } from './figures';
import { stream } from './prompts';
import { bufferedInside, EagerStreams, readSlowly, SlowReader } from './slow-readers';
import type { Testbed } from './testbed';
import { median, spreadOf } from './statistics';

const READER_COUNT = 200;
const SAMPLE_COUNT = 5;
const FILL_DEADLINE_MS = 120_000;
/** More than a single read brings, so the stream must have moved on. */
const MIN_PROGRESS_BYTES = 64 * 1_024;
/** Time until bytes in transit between two sockets have arrived and are acknowledged. */
const SETTLE_MS = 300;

/**
 * Reads until the kernel's buffers are full and every stream has advanced once more. Otherwise these buffers would feed
 * a slow reader for half a minute while nothing passes through the gateway.
 */
async function fillKernelBuffers(streams: EagerStreams, readers: readonly SlowReader[]): Promise<void> {
  const { sockets } = streams;
  let previous = -1;
  await readUntil(readers, () => {
    const totalBytes = sockets.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
    const allStarted = readers.every(({ stream: number, isClosed: closed }) => number !== null || closed);
    const isFull = allStarted && totalBytes < previous * 1.02;
    previous = totalBytes;
    return isFull;
  });
  const leftWhenFull = sockets.map(leftSince(0));
  await readUntil(readers, () =>
    sockets.every((socket, at) => leftSince(leftWhenFull[at]!)(socket) > MIN_PROGRESS_BYTES),
  );
}

const leftSince =
  (before: number) =>
  ({ bytesWritten, writableLength }: Socket): number =>
    bytesWritten - writableLength - before;

async function readUntil(readers: readonly SlowReader[], isDone: () => boolean): Promise<void> {
  const deadline = performance.now() + FILL_DEADLINE_MS;
  while (performance.now() < deadline) {
    await readSlowly(readers, 2);
    if (isDone()) return;
  }
  throw new Error('the slow readers were not all served in time');
}

/** Callers that read far slower than the supplier sends must not make data pile up in the gateway. */
export async function measureSlowReaders(testbed: Testbed, seconds: number): Promise<GatewayFigure[]> {
  const target = await testbed.gateway();
  const { process } = target;
  const streams = new EagerStreams();
  testbed.supplier.behaviour = streams.behaviour;
  const before = process.residentMib();
  const request = requestBytes({ path: '/v1/chat/completions', headers: target.headers, body: stream });
  const readers: SlowReader[] = [];
  for (let index = 0; index < READER_COUNT; index += 1)
    readers.push(await SlowReader.open(process.port, request));
  await fillKernelBuffers(streams, readers);
  const filledMib = process.residentMib();
  const resident: number[] = [];
  const worst: number[] = [];
  for (let sample = 0; sample < SAMPLE_COUNT; sample += 1) {
    // Passed bytes are garbage-collected every 4 MB: a single sample is arbitrary, many show growth.
    const sizes: number[] = [];
    await readSlowly(readers, seconds / SAMPLE_COUNT, () => sizes.push(process.residentMib()));
    await delay(SETTLE_MS);
    worst.push(Math.max(...bufferedInside(streams, readers)) / 1_024);
    resident.push(median(sizes));
  }
  const cutCount = readers.filter(({ isClosed: closed }) => closed).length;
  for (const { socket } of readers) socket.destroy();
  process.responseCount += READER_COUNT;
  await process.quiet();
  await process.stop();
  const bytesPerReader = ((filledMib - before) * 1_024) / READER_COUNT;
  return [
    {
      what: `${READER_COUNT} slow readers: most buffered for one`,
      unit: 'KiB',
      must: 64,
      measured: spreadOf(worst),
      note: `${cutCount} of them were cut; ${bytesPerReader.toFixed(0)} KiB resident for each in all`,
    },
    {
      what: `${READER_COUNT} slow readers: growth in ${seconds} s`,
      unit: '%',
      must: 5,
      measured: spreadOf([((resident.at(-1) ?? NaN) / (resident[0] ?? NaN) - 1) * 100]),
    },
  ];
}
