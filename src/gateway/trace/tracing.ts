import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ATTRIBUTE, type Conventions, conventionsOf, Settings, Telemetry } from '../../platform';
import { type HttpRequest, pathOf } from '../../web';
import type { Operation } from '../operations/operation';
import { LaneIdentities } from './lane-identity';
import type { LaneSpan } from './lane-span';
import { RequestTrace } from './request-trace';

const ALL = 'all';

/** Begins what telemetry hears of requests. */
@Injectable()
export class Tracing {
  private readonly isOn: boolean;
  private readonly conventions: Conventions;
  private readonly identities: LaneIdentities;
  private readonly scheme: string;
  private readonly tellsKey: boolean;
  private readonly contentBytes: number | null;
  private readonly told: ReadonlySet<string>;
  private readonly routes = new Map<string, ReturnType<Tracing['startAt']>>();

  constructor(
    private readonly telemetry: Telemetry,
    settings: Settings,
  ) {
    this.isOn = telemetry.traces !== null || telemetry.models !== null;
    this.conventions = conventionsOf(settings);
    this.identities = new LaneIdentities(telemetry.models);
    this.scheme = new URL(settings.baseUrl).protocol.slice(0, -1);
    this.tellsKey = settings.telemetryKeyId;
    this.contentBytes = settings.telemetryContent === 'never' ? null : settings.telemetryContentBytes;
    this.told = new Set(settings.traceContextTo);
  }

  /** Null: nothing is sent anywhere. */
  begin(operation: Operation, http: HttpRequest, response: ServerResponse): RequestTrace | null {
    if (!this.isOn) return null;
    const isInner = response.socket === null;
    const span = this.spanOf(operation, http, isInner);
    const trace = new RequestTrace({
      operation,
      span,
      identities: this.identities,
      conventions: this.conventions,
      isInner,
      contentBytes: this.contentBytes,
    });
    trace.identified(http.requestId, this.tellsKey ? (http.caller?.publicId ?? null) : null);
    return trace;
  }

  /** The caller's header fields, with what a supplier is told of the trace; only some are told anything. */
  headersFor(provider: string, headers: IncomingHttpHeaders, lane: LaneSpan | null): IncomingHttpHeaders {
    const isTold = this.told.size > 0 && (this.told.has(provider) || this.told.has(ALL));
    const span = lane?.span ?? null;
    if (isTold && span === null) return headers;
    const others = withoutContext(headers);
    return isTold && span !== null ? { ...others, ...span.headers() } : others;
  }

  private startAt(path: string, method: string) {
    const shared = {
      [ATTRIBUTE.method]: method,
      [ATTRIBUTE.route]: path,
      [ATTRIBUTE.path]: path,
      [ATTRIBUTE.scheme]: this.scheme,
    };
    return { name: `${method} ${path}`, kind: 'server', shared } as const;
  }

  private spanOf({ name }: Operation, http: HttpRequest, isFromWithin: boolean) {
    const { traces } = this.telemetry;
    if (traces === null) return null;
    if (isFromWithin) return traces.begin({ name: `switchboard ${name}`, kind: 'internal' });
    // Routes of the gateway have no parameters, and are spelt in one way only.
    const path = pathOf(http);
    let start = this.routes.get(path);
    if (start === undefined) this.routes.set(path, (start = this.startAt(path, http.method ?? 'POST')));
    return traces.begin(start, http.headers);
  }
}

function withoutContext(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  if (headers.traceparent === undefined && headers.tracestate === undefined) return headers;
  const { traceparent: _parent, tracestate: _state, ...others } = headers;
  return others;
}
