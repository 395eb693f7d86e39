import type { ServerResponse } from 'node:http';
import type { ReviewedStream } from './reviewed-stream';
import {
  AUTO_HEADER,
  type CallSummary,
  DROPPED_HEADER,
  type RouteSummary,
  setRouteHeaders,
  settledHeaders,
} from './svc-headers';

const trailerNames =
  'x-svc-latency-ms, x-svc-input-tokens, x-svc-output-tokens, x-svc-cost-usd, x-svc-dropped, ' +
  'x-svc-supplier, x-svc-region, x-svc-failover, x-svc-auto';

/** A streamed response on its way to the caller: head at the first useful byte, charge in the trailers. */
export class StreamSink<
  Copy extends { add(piece: Buffer | string): void } = { add(piece: Buffer | string): void },
> {
  private isActive = true;
  private headSummary: RouteSummary | null = null;

  constructor(
    private readonly response: ServerResponse,
    private readonly pingComment: string,
    readonly sample: Copy | null = null,
    private readonly telemetry: { add(piece: Buffer | string): void } | null = null,
    /** Receives a copy up to the last bytes; null unless tool calls are reviewed. */
    readonly reviewed: ReviewedStream | null = null,
  ) {}

  sendHead(facts: RouteSummary): void {
    const { response } = this;
    response.statusCode = 200;
    setRouteHeaders(response, facts);
    this.headSummary = facts;
    response.setHeader('content-type', 'text/event-stream; charset=utf-8');
    response.setHeader('cache-control', 'no-cache');
    response.setHeader('x-accel-buffering', 'no');
    response.setHeader('trailer', trailerNames);
    response.flushHeaders();
  }

  /** Returns false while the caller reads more slowly than the supplier writes; `onDrain` reports when to resume. */
  write(chunk: Buffer | string): boolean {
    this.isActive = true;
    this.sample?.add(chunk);
    this.telemetry?.add(chunk);
    this.reviewed?.add(chunk);
    return this.response.write(chunk);
  }

  /** Sends a keep-alive after silence; can go anywhere, as only complete events are sent. */
  ping(): void {
    if (!this.isActive && this.response.writableLength === 0 && !this.response.writableEnded)
      this.response.write(this.pingComment);
    this.isActive = false;
  }

  onClose(listener: () => void): void {
    this.response.on('close', listener);
  }

  onDrain(listener: () => void): void {
    this.response.on('drain', listener);
  }

  cut(last: Buffer | string): void {
    this.telemetry?.add(last);
    if (!this.response.writableEnded) this.response.end(last);
  }

  end(facts: CallSummary, last?: Buffer | string): void {
    if (last !== undefined) {
      this.sample?.add(last);
      this.telemetry?.add(last);
    }
    this.response.addTrailers({ ...settledHeaders(facts), ...lateTrailers(facts, this.headSummary) });
    this.response.end(last);
  }
}

/** Trailers for attributes that the head lacked, or that differ because another lane responded in the end. */
function lateTrailers(facts: CallSummary, headSummary: RouteSummary | null): Record<string, string> {
  const newlyDropped = (facts.dropped ?? []).filter((name) => headSummary?.dropped?.includes(name) !== true);
  const isOtherLane = facts.supplier !== headSummary?.supplier || facts.region !== headSummary.region;
  return {
    ...(newlyDropped.length > 0 && { [DROPPED_HEADER]: newlyDropped.join(', ') }),
    ...(facts.auto !== undefined && facts.auto !== headSummary?.auto && { [AUTO_HEADER]: facts.auto }),
    ...(isOtherLane && {
      'x-svc-supplier': facts.supplier,
      'x-svc-region': facts.region ?? 'unspecified',
      'x-svc-failover': String(facts.failover),
    }),
  };
}
