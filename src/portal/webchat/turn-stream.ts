import type { ServerResponse } from 'node:http';
import type { RunningTurn } from '../../chat';
import { formatEvent, ssePing } from '../../kernel';

const PING_MS = 15_000;
/** Time for errors to become a normal response. Then the stream opens, so that proxies in between do not time out. */
const OPEN_AFTER_MS = 5_000;

export class TurnStream {
  private readonly pingTimer: NodeJS.Timeout;
  private readonly openTimer: NodeJS.Timeout;

  constructor(
    private readonly response: ServerResponse,
    private readonly openingData: object,
  ) {
    this.openTimer = setTimeout(() => this.open(), OPEN_AFTER_MS);
    this.pingTimer = setInterval(() => {
      if (response.headersSent && response.writableLength === 0) response.write(ssePing);
    }, PING_MS);
  }

  get isOpen(): boolean {
    return this.response.headersSent;
  }

  /** Resumes the turn when a slow reader has caught up. */
  follow(running: RunningTurn): void {
    this.response.on('drain', running.resume);
  }

  send(event: string, data: object): boolean {
    this.open();
    return this.response.write(formatEvent({ event, data: JSON.stringify(data) }));
  }

  end(event: string, data: object): void {
    this.send(event, data);
    this.close();
    this.response.end();
  }

  close(): void {
    clearTimeout(this.openTimer);
    clearInterval(this.pingTimer);
  }

  private open(): void {
    const { response } = this;
    if (response.headersSent || response.writableEnded) return;
    response.statusCode = 200;
    response.setHeader('content-type', 'text/event-stream; charset=utf-8');
    response.setHeader('cache-control', 'no-store');
    response.setHeader('x-accel-buffering', 'no');
    response.write(formatEvent({ event: 'turn', data: JSON.stringify(this.openingData) }));
  }
}
