import type { ServerResponse } from 'node:http';
import type { ReviewedStream } from './reviewed-stream';
import {
  AUTO_CHOICE,
  type CallFacts,
  DROPPED,
  type RouteFacts,
  setRouteHeaders,
  settledHeaders,
} from './svc-headers';

const trailerNames =
  'x-svc-latency-ms, x-svc-input-tokens, x-svc-output-tokens, x-svc-cost-usd, x-svc-dropped, ' +
  'x-svc-supplier, x-svc-region, x-svc-failover, x-svc-auto';

/** A streamed answer on its way to the caller: the head at the first useful byte, the account in the trailers. */
export class StreamSink<
  Copy extends { add(piece: Buffer | string): void } = { add(piece: Buffer | string): void },
> {
  /** Something went out since the last look. */
  private isLively = true;
  /** The head has told these facts. */
  private told: RouteFacts | null = null;

  constructor(
    private readonly response: ServerResponse,
    /** A keep-alive comment that carries no data. */
    private readonly sign: string,
    /** Gets a copy of what goes out. */
    readonly sample: Copy | null = null,
    /** Gets a copy as well, for telemetry. */
    private readonly telemetry: { add(piece: Buffer | string): void } | null = null,
    /** Gets a copy as well, until the last bytes; null unless tool calls are reviewed. */
    readonly reviewed: ReviewedStream | null = null,
  ) {}

  head(facts: RouteFacts): void {
    const { response } = this;
    response.statusCode = 200;
    setRouteHeaders(response, facts);
    this.told = facts;
    response.setHeader('content-type', 'text/event-stream; charset=utf-8');
    response.setHeader('cache-control', 'no-cache');
    response.setHeader('x-accel-buffering', 'no');
    response.setHeader('trailer', trailerNames);
    response.flushHeaders();
  }

  /** It is false while the caller reads slower than the supplier writes; `onDrain` tells when that has passed. */
  write(chunk: Buffer | string): boolean {
    this.isLively = true;
    this.sample?.add(chunk);
    this.telemetry?.add(chunk);
    this.reviewed?.add(chunk);
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
    this.telemetry?.add(last);
    if (!this.response.writableEnded) this.response.end(last);
  }

  end(facts: CallFacts, last?: Buffer | string): void {
    if (last !== undefined) {
      this.sample?.add(last);
      this.telemetry?.add(last);
    }
    this.response.addTrailers({ ...settledHeaders(facts), ...toldLater(facts, this.told) });
    this.response.end(last);
  }
}

/** The trailers tell what the head did not, or told of a lane that did not answer in the end. */
function toldLater(facts: CallFacts, told: RouteFacts | null): Record<string, string> {
  const rest = (facts.dropped ?? []).filter((name) => told?.dropped?.includes(name) !== true);
  const isOther = facts.supplier !== told?.supplier || facts.region !== told.region;
  return {
    ...(rest.length > 0 && { [DROPPED]: rest.join(', ') }),
    ...(facts.auto !== undefined && facts.auto !== told?.auto && { [AUTO_CHOICE]: facts.auto }),
    ...(isOther && {
      'x-svc-supplier': facts.supplier,
      'x-svc-region': facts.region ?? 'unspecified',
      'x-svc-failover': String(facts.failover),
    }),
  };
}
