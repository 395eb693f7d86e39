import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { AudioKind, AudioLength } from './audio-length';
import { measureAudio } from './measure-audio';

/** A hostile recording takes up to half a microsecond per byte. */
const MAX_INLINE_BYTES = 64 * 1024;
/** Idle time after which the thread ends, as it holds 12 MB. */
const MAX_IDLE_MS = 30_000;

export interface AudioRequest {
  readonly files: readonly Uint8Array[];
  readonly otherwise: AudioKind | null;
}
export type AudioReply = ReturnType<typeof measureAudio> | Error;

/** Measures recordings; large ones in a thread, so that no other request waits. */
@Injectable()
export class AudioMeter implements OnModuleDestroy {
  private thread: Worker | null = null;
  /** Replies arrive in the order of the requests. */
  private waiting: PromiseWithResolvers<readonly (AudioLength | null)[]>[] = [];
  private idle: NodeJS.Timeout | undefined;

  /** Length of each file, read as `otherwise` if its kind is unknown; null if that is null, too. */
  async measure(
    files: readonly Buffer[],
    otherwise: AudioKind | null,
  ): Promise<readonly (AudioLength | null)[]> {
    const bytes = files.reduce((sum, { length }) => sum + length, 0);
    if (bytes <= MAX_INLINE_BYTES) return measureAudio(files, otherwise);
    const reply = Promise.withResolvers<readonly (AudioLength | null)[]>();
    this.waiting.push(reply);
    clearTimeout(this.idle);
    const copies = files.map((file) => new Uint8Array(file));
    const request: AudioRequest = { files: copies, otherwise };
    this.thread ??= this.start();
    this.thread.postMessage(
      request,
      copies.map(({ buffer }) => buffer),
    );
    return reply.promise;
  }

  onModuleDestroy(): void {
    void this.end();
  }

  private start(): Worker {
    const thread = new Worker(join(__dirname, 'audio-thread.js'), { execArgv: [] });
    thread.on('message', (reply: AudioReply) => {
      const first = this.waiting.shift();
      if (reply instanceof Error) first?.reject(reply);
      else first?.resolve(reply);
      if (this.waiting.length === 0) this.idle = setTimeout(() => void this.end(), MAX_IDLE_MS).unref();
    });
    thread.on('error', (error) => {
      this.thread = null;
      for (const { reject } of this.waiting.splice(0)) reject(error);
    });
    thread.unref();
    return thread;
  }

  private async end(): Promise<void> {
    clearTimeout(this.idle);
    const { thread } = this;
    this.thread = null;
    await thread?.terminate();
  }
}
