import type { ServerResponse } from 'node:http';
import type { RunningTurn } from '../../chat';
import { formatEvent, ssePing } from '../../kernel';

const PING_MS = 15_000;
/** Refusals come within this as an answer of their own; then the stream begins, so that no proxy in between gives up. */
const HEAD_AFTER_MS = 5_000;

/** The events of one turn on their way to the page. */
export class TurnStream {
  private readonly pings: NodeJS.Timeout;
  private readonly opening: NodeJS.Timeout;

  constructor(
    private readonly response: ServerResponse,
    private readonly first: object,
  ) {
    this.opening = setTimeout(() => this.open(), HEAD_AFTER_MS);
    this.pings = setInterval(() => {
      if (response.headersSent && response.writableLength === 0) response.write(ssePing);
    }, PING_MS);
  }

  get isOpen(): boolean {
    return this.response.headersSent;
  }

  /** The stream ends with its reader, and waits for a slow one. */
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
    clearTimeout(this.opening);
    clearInterval(this.pings);
  }

  private open(): void {
    const { response } = this;
    if (response.headersSent || response.writableEnded) return;
    response.statusCode = 200;
    response.setHeader('content-type', 'text/event-stream; charset=utf-8');
    response.setHeader('cache-control', 'no-store');
    response.setHeader('x-accel-buffering', 'no');
    response.write(formatEvent({ event: 'turn', data: JSON.stringify(this.first) }));
  }
}
