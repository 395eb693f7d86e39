import type { ServerResponse } from 'node:http';
import { type CallFacts, DROPPED, type RouteFacts, setRouteHeaders, settledHeaders } from './svc-headers';

const trailerNames =
  'x-svc-latency-ms, x-svc-input-tokens, x-svc-output-tokens, x-svc-cost-usd, x-svc-dropped';

/** A streamed answer on its way to the caller: the head at the first useful byte, the account in the trailers. */
export class StreamSink {
  /** Something went out since the last look. */
  private isLively = true;
  /** What the head has told of what was left out. */
  private told: readonly string[] = [];

  constructor(
    private readonly response: ServerResponse,
    /** A keep-alive comment that carries no data. */
    private readonly sign: string,
    /** Gets a copy of what goes out. */
    private readonly copy: { add(piece: Buffer | string): void } | null = null,
  ) {}

  head(facts: RouteFacts): void {
    const { response } = this;
    response.statusCode = 200;
    setRouteHeaders(response, facts);
    this.told = facts.dropped ?? [];
    response.setHeader('content-type', 'text/event-stream; charset=utf-8');
    response.setHeader('cache-control', 'no-cache');
    response.setHeader('x-accel-buffering', 'no');
    response.setHeader('trailer', trailerNames);
    response.flushHeaders();
  }

  /** False while the caller reads slower than the supplier writes; `onDrain` tells when that has passed. */
  write(chunk: Buffer | string): boolean {
    this.isLively = true;
    this.copy?.add(chunk);
    return this.response.write(chunk);
  }

  /** A keep-alive after a silent period; only whole events are sent, so a comment may stand anywhere. */
  ping(): void {
    if (!this.isLively && this.response.writableLength === 0 && !this.response.writableEnded)
      this.response.write(this.sign);
    this.isLively = false;
  }

  onClose(listener: () => void): void {
    this.response.on('close', listener);
  }

  onDrain(listener: () => void): void {
    this.response.on('drain', listener);
  }

  /** Ends the stream with a failure and without settlement facts. */
  cut(last: Buffer | string): void {
    this.response.end(last);
  }

  end(facts: CallFacts, last?: Buffer | string): void {
    if (last !== undefined) this.copy?.add(last);
    const rest = (facts.dropped ?? []).filter((name) => !this.told.includes(name));
    this.response.addTrailers({
      ...settledHeaders(facts),
      ...(rest.length > 0 && { [DROPPED]: rest.join(', ') }),
    });
    this.response.end(last);
  }
}
