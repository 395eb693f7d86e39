import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ATTRIBUTE, type Conventions, conventionsOf, Settings, Telemetry } from '../../platform';
import { type HttpRequest, pathOf } from '../../web';
import type { GatewayOperation } from '../operations/operation';
import { LaneIdentities } from './lane-identity';
import type { LaneSpan } from './lane-span';
import { RequestTrace } from './request-trace';

const ALL_PROVIDERS = 'all';

@Injectable()
export class Tracing {
  private readonly isOn: boolean;
  private readonly conventions: Conventions;
  private readonly identities: LaneIdentities;
  private readonly scheme: string;
  private readonly includesKey: boolean;
  private readonly contentBytes: number | null;
  private readonly tracedProviders: ReadonlySet<string>;
  private readonly routes = new Map<string, ReturnType<Tracing['spanStart']>>();

  constructor(
    private readonly telemetry: Telemetry,
    settings: Settings,
  ) {
    this.isOn = telemetry.traces !== null || telemetry.models !== null;
    this.conventions = conventionsOf(settings);
    this.identities = new LaneIdentities(telemetry.models);
    this.scheme = new URL(settings.baseUrl).protocol.slice(0, -1);
    this.includesKey = settings.telemetryKeyId;
    this.contentBytes = settings.telemetryContent === 'never' ? null : settings.telemetryContentBytes;
    this.tracedProviders = new Set(settings.traceContextTo);
  }

  /** Null if telemetry is off. */
  startTrace(operation: GatewayOperation, http: HttpRequest, response: ServerResponse): RequestTrace | null {
    if (!this.isOn) return null;
    const isInner = response.socket === null;
    const span = this.startSpan(operation, http, isInner);
    const trace = new RequestTrace({
      operation,
      span,
      identities: this.identities,
      conventions: this.conventions,
      isInner,
      contentBytes: this.contentBytes,
    });
    trace.setIds(http.requestId, this.includesKey ? (http.caller?.publicId ?? null) : null);
    return trace;
  }

  /** The caller's headers, with the trace context for suppliers that are configured to receive it. */
  headersFor(provider: string, headers: IncomingHttpHeaders, lane: LaneSpan | null): IncomingHttpHeaders {
    const receivesContext =
      this.tracedProviders.size > 0 &&
      (this.tracedProviders.has(provider) || this.tracedProviders.has(ALL_PROVIDERS));
    const span = lane?.span ?? null;
    if (receivesContext && span === null) return headers;
    const others = withoutContext(headers);
    return receivesContext && span !== null ? { ...others, ...span.headers() } : others;
  }

  private spanStart(path: string, method: string) {
    const shared = {
      [ATTRIBUTE.method]: method,
      [ATTRIBUTE.route]: path,
      [ATTRIBUTE.path]: path,
      [ATTRIBUTE.scheme]: this.scheme,
    };
    return { name: `${method} ${path}`, kind: 'server', shared } as const;
  }

  private startSpan({ name }: GatewayOperation, http: HttpRequest, isInner: boolean) {
    const { traces } = this.telemetry;
    if (traces === null) return null;
    if (isInner) return traces.startTrace({ name: `switchboard ${name}`, kind: 'internal' });
    // Gateway routes have no parameters, and only one spelling.
    const path = pathOf(http);
    let start = this.routes.get(path);
    if (start === undefined) this.routes.set(path, (start = this.spanStart(path, http.method ?? 'POST')));
    return traces.startTrace(start, http.headers);
  }
}

function withoutContext(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  if (headers.traceparent === undefined && headers.tracestate === undefined) return headers;
  const { traceparent: _parent, tracestate: _state, ...others } = headers;
  return others;
}
