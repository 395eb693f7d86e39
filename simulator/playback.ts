import type { ServerResponse } from 'node:http';
import type { RecorderEntry } from './recorder';
import type { Step } from './script';

/** Plays a script to a response with its pauses, and never faster than the client reads. */
export class Playback {
  private index = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly response: ServerResponse,
    private readonly steps: readonly Step[],
    private readonly entry: RecorderEntry,
  ) {
    response.once('close', () => clearTimeout(this.timer));
  }

  readonly run = (): void => {
    const { response, steps } = this;
    while (this.index < steps.length && !response.destroyed) {
      const step = steps[this.index++];
      if (step === undefined || !this.perform(step)) return;
    }
  };

  /** Returns whether the next step can follow immediately. */
  private perform(step: Step): boolean {
    const { response, entry } = this;
    switch (step.does) {
      case 'head':
        entry.status = step.status;
        response.writeHead(step.status, step.headers);
        response.flushHeaders();
        return true;
      case 'write':
        return this.write(step.bytes, step.events);
      case 'wait':
        if (step.ms === 0) setImmediate(this.run);
        else this.timer = setTimeout(this.run, step.ms);
        return false;
      case 'hang':
        return false;
      case 'close':
        entry.broken = true;
        response.socket?.destroySoon();
        return false;
      case 'reset':
        entry.broken = true;
        response.socket?.resetAndDestroy();
        return false;
      case 'end':
        response.end();
        return false;
    }
  }

  private write(bytes: string | Buffer, events: number): boolean {
    this.entry.bytes += Buffer.byteLength(bytes);
    this.entry.events += events;
    if (bytes.length === 0 || this.response.write(bytes)) return true;
    this.response.once('drain', this.run);
    return false;
  }
}
