import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { decode, metricsRequest, traceRequest } from './otlp-messages';

type Value = string | number | boolean | readonly Value[];
type Values = Readonly<Record<string, Value>>;

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty where it stands above all others. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: string;
  readonly startNano: bigint;
  readonly endNano: bigint;
  readonly attributes: Values;
  readonly events: readonly { readonly name: string; readonly attributes: Values }[];
  readonly links: readonly { readonly spanId: string; readonly attributes: Values }[];
  readonly isError: boolean;
  readonly resource: Values;
}

export interface ReceivedPoint {
  readonly attributes: Values;
  /** A sum or gauge has a value, a histogram the others. */
  readonly value?: number;
  readonly count?: number;
  readonly sum?: number;
  readonly bounds?: readonly number[];
  readonly buckets?: readonly number[];
}

export interface ReceivedMetric {
  readonly name: string;
  readonly unit: string;
  readonly kind: 'gauge' | 'sum' | 'histogram';
  readonly temporality: 'delta' | 'cumulative' | null;
  readonly points: readonly ReceivedPoint[];
}

export interface Delivery {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The bytes without their compression. */
  readonly bytes: Buffer;
}

const kinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];

/** A receiver of OTLP over HTTP, in protobuf and JSON. It refuses whatever the protocol does not describe. */
export class OtlpReceiver {
  readonly deliveries: Delivery[] = [];
  readonly spans: ReceivedSpan[] = [];
  /** By name, as they were told last. */
  readonly metrics = new Map<string, ReceivedMetric>();
  /** Each time they were told. */
  readonly toldMetrics: ReceivedMetric[] = [];
  /** What was wrong with what came. */
  readonly faults: unknown[] = [];
  /** Answers in place of the receiver, and says whether it did. */
  behaviour: (response: ServerResponse, delivery: Delivery) => boolean = () => false;
  private waiting: (() => void)[] = [];

  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    readonly url: string,
  ) {}

  static async open(port = 0): Promise<OtlpReceiver> {
    const server = createServer();
    await once(server.listen(port, '127.0.0.1'), 'listening');
    const receiver = new OtlpReceiver(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on('request', (request, response) => void receiver.answer(request, response));
    return receiver;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Every byte that came, as text. */
  get text(): string {
    return this.deliveries.map(({ bytes }) => bytes.toString('latin1')).join('\n');
  }

  /** Settles once what came satisfies this. */
  async until(isThere: () => boolean): Promise<void> {
    while (!isThere()) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  /** The spans of the trace of the request that was given this id. */
  async trace(requestId: string): Promise<readonly ReceivedSpan[]> {
    const found = (): ReceivedSpan | undefined =>
      this.spans.find(({ attributes }) => attributes['switchboard.request.id'] === requestId);
    await this.until(() => found() !== undefined);
    return this.spans.filter(({ traceId }) => traceId === found()?.traceId);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const raw = Buffer.concat(pieces);
    const { headers, url: path = '' } = request;
    const bytes = headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
    const delivery = { path, headers, bytes };
    this.deliveries.push(delivery);
    if (!this.behaviour(response, delivery)) {
      try {
        this.take(delivery);
        response
          .writeHead(200, { 'content-type': headers['content-type'] })
          .end(headers['content-type'] === 'application/json' ? '{}' : '');
      } catch (fault) {
        this.faults.push(fault);
        response.writeHead(400).end();
      }
    }
    for (const wake of this.waiting.splice(0)) wake();
  }

  private take({ path, headers, bytes }: Delivery): void {
    const isTraces = path.endsWith('/v1/traces');
    if (!isTraces && !path.endsWith('/v1/metrics')) throw new Error(`nothing is at ${path}`);
    const type = headers['content-type'];
    if (type !== 'application/json' && type !== 'application/x-protobuf')
      throw new Error(`no such type: ${type}`);
    const told =
      type === 'application/json'
        ? (JSON.parse(bytes.toString('utf8')) as Record<string, unknown>)
        : decode(bytes, isTraces ? traceRequest : metricsRequest);
    if (isTraces) this.spans.push(...spansIn(told));
    else
      for (const metric of metricsIn(told)) {
        this.metrics.set(metric.name, metric);
        this.toldMetrics.push(metric);
      }
  }
}

type Fields = Record<string, unknown>;
const list = (value: unknown): Fields[] => (value ?? []) as Fields[];

function spansIn(told: Fields): ReceivedSpan[] {
  return list(told.resourceSpans).flatMap(({ resource, scopeSpans }) =>
    list(scopeSpans).flatMap(({ spans }) =>
      list(spans).map((span) => ({
        traceId: id(span.traceId, 32),
        spanId: id(span.spanId, 16),
        parentSpanId: span.parentSpanId ? id(span.parentSpanId, 16) : '',
        traceState: (span.traceState as string | undefined) ?? '',
        name: String(span.name),
        kind: kinds[Number(span.kind)] ?? 'unknown',
        startNano: BigInt(span.startTimeUnixNano as string),
        endNano: BigInt(span.endTimeUnixNano as string),
        attributes: valuesIn(span.attributes),
        events: list(span.events).map((event) => ({
          name: String(event.name),
          attributes: valuesIn(event.attributes),
        })),
        links: list(span.links).map((link) => ({
          spanId: id(link.spanId, 16),
          attributes: valuesIn(link.attributes),
        })),
        isError: Number((span.status as Fields | undefined)?.code ?? 0) === 2,
        resource: valuesIn((resource as Fields).attributes),
      })),
    ),
  );
}

function metricsIn(told: Fields): ReceivedMetric[] {
  return list(told.resourceMetrics).flatMap(({ scopeMetrics }) =>
    list(scopeMetrics).flatMap(({ metrics }) =>
      list(metrics).map((metric) => {
        const kind = (['gauge', 'sum', 'histogram'] as const).find((name) => metric[name] !== undefined);
        if (kind === undefined) throw new Error(`${String(metric.name)} is of no kind`);
        const data = metric[kind] as Fields;
        const temporality = [null, 'delta', 'cumulative'] as const;
        return {
          name: String(metric.name),
          unit: (metric.unit as string | undefined) ?? '',
          kind,
          temporality: temporality[Number(data.aggregationTemporality ?? 0)] ?? null,
          points: list(data.dataPoints).map(pointOf),
        };
      }),
    ),
  );
}

function pointOf(point: Fields): ReceivedPoint {
  const attributes = valuesIn(point.attributes);
  if (point.count === undefined) return { attributes, value: Number(point.asDouble ?? point.asInt ?? 0) };
  const numbers = (values: unknown): number[] => list(values).map(Number);
  return {
    attributes,
    count: Number(point.count),
    sum: Number(point.sum),
    bounds: numbers(point.explicitBounds),
    buckets: numbers(point.bucketCounts),
  };
}

function id(value: unknown, length: number): string {
  const text = String(value);
  if (!new RegExp(`^[0-9a-f]{${length}}$`).test(text))
    throw new Error(`${text} is no id of ${length} digits`);
  return text;
}

const valuesIn = (attributes: unknown): Values =>
  Object.fromEntries(list(attributes).map(({ key, value }) => [key as string, valueOf(value as Fields)]));

function valueOf(value: Fields): Value {
  if (value.arrayValue !== undefined) return list((value.arrayValue as Fields).values).map(valueOf);
  if (value.intValue !== undefined) return Number(value.intValue);
  const plain = value.stringValue ?? value.boolValue ?? value.doubleValue;
  if (plain === undefined) throw new Error(`no value: ${JSON.stringify(value)}`);
  return plain as Value;
}
