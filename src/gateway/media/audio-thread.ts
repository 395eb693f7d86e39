import { parentPort } from 'node:worker_threads';
import type { AudioRequest, AudioReply } from './audio-meter';
import { measureAudio } from './measure-audio';

parentPort?.on('message', ({ files, otherwise }: AudioRequest) => {
  let reply: AudioReply;
  try {
    const buffers = files.map(({ buffer, byteOffset, length }) => Buffer.from(buffer, byteOffset, length));
    reply = measureAudio(buffers, otherwise);
  } catch (error) {
    reply = error as Error;
  }
  parentPort?.postMessage(reply);
});
