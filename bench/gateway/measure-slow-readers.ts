import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { requestBytes } from './caller';
import type { Figure } from './figures';
import { stream } from './prompts';
import { bufferedInside, EagerStreams, readSlowly, SlowReader } from './slow-readers';
import type { Testbed } from './testbed';
import { median, spreadOf } from './statistics';

const READERS = 200;
const LOOKS = 5;
const FILL_DEADLINE_MS = 120_000;
/** More than one read brings: the stream has been let go on. */
const A_ROUND_BYTES = 64 * 1_024;
/** Until what is on its way between two sockets has arrived and is acknowledged. */
const SETTLE_MS = 300;

/**
 * Reads until the kernel's buffers are full and every stream has moved on once more. Those buffers feed a slow reader
 * for half a minute, in which nothing passes through the gateway.
 */
async function fill(streams: EagerStreams, readers: readonly SlowReader[]): Promise<void> {
  const { sockets } = streams;
  let before = -1;
  await readUntil(readers, () => {
    const left = sockets.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
    const begun = readers.every(({ stream: number, closed }) => number !== null || closed);
    const isFull = begun && left < before * 1.02;
    before = left;
    return isFull;
  });
  const full = sockets.map(leftSince(0));
  await readUntil(readers, () => sockets.every((socket, at) => leftSince(full[at]!)(socket) > A_ROUND_BYTES));
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

/** Callers that read far slower than the supplier sends: what they do not take must not pile up in the gateway. */
export async function measureSlowReaders(testbed: Testbed, seconds: number): Promise<Figure[]> {
  const target = await testbed.gateway();
  const { process } = target;
  const streams = new EagerStreams();
  testbed.supplier.behaviour = streams.behaviour;
  const before = process.residentMib();
  const request = requestBytes({ path: '/v1/chat/completions', headers: target.headers, body: stream });
  const readers: SlowReader[] = [];
  for (let one = 0; one < READERS; one += 1) readers.push(await SlowReader.open(process.port, request));
  await fill(streams, readers);
  const filled = process.residentMib();
  const resident: number[] = [];
  const worst: number[] = [];
  for (let look = 0; look < LOOKS; look += 1) {
    // The bytes that passed are collected every 4 MB: one look sees where in between it is, many see whether
    // it grows.
    const sizes: number[] = [];
    await readSlowly(readers, seconds / LOOKS, () => sizes.push(process.residentMib()));
    await delay(SETTLE_MS);
    worst.push(Math.max(...bufferedInside(streams, readers)) / 1_024);
    resident.push(median(sizes));
  }
  const cut = readers.filter(({ closed }) => closed).length;
  for (const { socket } of readers) socket.destroy();
  process.answers += READERS;
  await process.quiet();
  await process.stop();
  const each = ((filled - before) * 1_024) / READERS;
  return [
    {
      what: `${READERS} slow readers: most buffered for one`,
      unit: 'KiB',
      must: 64,
      measured: spreadOf(worst),
      note: `${cut} of them were cut; ${each.toFixed(0)} KiB resident for each in all`,
    },
    {
      what: `${READERS} slow readers: growth in ${seconds} s`,
      unit: '%',
      must: 5,
      measured: spreadOf([((resident.at(-1) ?? NaN) / (resident[0] ?? NaN) - 1) * 100]),
    },
  ];
}
