import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { decode, metricsRequest, traceRequest } from './otlp-messages';

type AttributeValue = string | number | boolean | readonly AttributeValue[];
type AttributeValues = Readonly<Record<string, AttributeValue>>;

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root span. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: string;
  readonly startNano: bigint;
  readonly endNano: bigint;
  readonly attributes: AttributeValues;
  readonly events: readonly { readonly name: string; readonly attributes: AttributeValues }[];
  readonly links: readonly { readonly spanId: string; readonly attributes: AttributeValues }[];
  readonly isError: boolean;
  readonly resource: AttributeValues;
}

export interface ReceivedPoint {
  readonly attributes: AttributeValues;
  /** Set for a sum or gauge; a histogram has the other fields. */
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

export interface OtlpDelivery {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Uncompressed bytes. */
  readonly bytes: Buffer;
}

const kinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];

/** OTLP receiver over HTTP, for protobuf and JSON. Rejects whatever the protocol does not define. */
export class OtlpReceiver {
  readonly deliveries: OtlpDelivery[] = [];
  readonly spans: ReceivedSpan[] = [];
  /** Latest report of each metric, by name. */
  readonly metrics = new Map<string, ReceivedMetric>();
  /** Every report of every metric, in order. */
  readonly metricReports: ReceivedMetric[] = [];
  /** Errors found in the deliveries. */
  readonly faults: unknown[] = [];
  /** Overrides the response; returns whether it did. */
  behaviour: (response: ServerResponse, delivery: OtlpDelivery) => boolean = () => false;
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

  /** All received bytes as text. */
  get text(): string {
    return this.deliveries.map(({ bytes }) => bytes.toString('latin1')).join('\n');
  }

  /** Resolves once the deliveries satisfy the condition. */
  async until(isSatisfied: () => boolean): Promise<void> {
    while (!isSatisfied()) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  /** Waits for the request with this id and returns all spans of its trace. */
  async spansOfRequest(requestId: string): Promise<readonly ReceivedSpan[]> {
    const findSpan = (): ReceivedSpan | undefined =>
      this.spans.find(({ attributes }) => attributes['switchboard.request.id'] === requestId);
    await this.until(() => findSpan() !== undefined);
    return this.spans.filter(({ traceId }) => traceId === findSpan()?.traceId);
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

  private take({ path, headers, bytes }: OtlpDelivery): void {
    const isTraces = path.endsWith('/v1/traces');
    if (!isTraces && !path.endsWith('/v1/metrics')) throw new Error(`nothing is at ${path}`);
    const type = headers['content-type'];
    if (type !== 'application/json' && type !== 'application/x-protobuf')
      throw new Error(`no such type: ${type}`);
    const content =
      type === 'application/json'
        ? (JSON.parse(bytes.toString('utf8')) as Record<string, unknown>)
        : decode(bytes, isTraces ? traceRequest : metricsRequest);
    if (isTraces) this.spans.push(...readSpans(content));
    else
      for (const metric of readMetrics(content)) {
        this.metrics.set(metric.name, metric);
        this.metricReports.push(metric);
      }
  }
}

type OtlpFields = Record<string, unknown>;
const list = (value: unknown): OtlpFields[] => (value ?? []) as OtlpFields[];

function readSpans(content: OtlpFields): ReceivedSpan[] {
  return list(content.resourceSpans).flatMap(({ resource, scopeSpans }) =>
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
        attributes: readAttributes(span.attributes),
        events: list(span.events).map((event) => ({
          name: String(event.name),
          attributes: readAttributes(event.attributes),
        })),
        links: list(span.links).map((link) => ({
          spanId: id(link.spanId, 16),
          attributes: readAttributes(link.attributes),
        })),
        isError: Number((span.status as OtlpFields | undefined)?.code ?? 0) === 2,
        resource: readAttributes((resource as OtlpFields).attributes),
      })),
    ),
  );
}

function readMetrics(content: OtlpFields): ReceivedMetric[] {
  return list(content.resourceMetrics).flatMap(({ scopeMetrics }) =>
    list(scopeMetrics).flatMap(({ metrics }) =>
      list(metrics).map((metric) => {
        const kind = (['gauge', 'sum', 'histogram'] as const).find((name) => metric[name] !== undefined);
        if (kind === undefined) throw new Error(`${String(metric.name)} is of no kind`);
        const data = metric[kind] as OtlpFields;
        const temporality = [null, 'delta', 'cumulative'] as const;
        return {
          name: String(metric.name),
          unit: (metric.unit as string | undefined) ?? '',
          kind,
          temporality: temporality[Number(data.aggregationTemporality ?? 0)] ?? null,
          points: list(data.dataPoints).map(readPoint),
        };
      }),
    ),
  );
}

function readPoint(point: OtlpFields): ReceivedPoint {
  const attributes = readAttributes(point.attributes);
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

const readAttributes = (attributes: unknown): AttributeValues =>
  Object.fromEntries(
    list(attributes).map(({ key, value }) => [key as string, readValue(value as OtlpFields)]),
  );

function readValue(value: OtlpFields): AttributeValue {
  if (value.arrayValue !== undefined) return list((value.arrayValue as OtlpFields).values).map(readValue);
  if (value.intValue !== undefined) return Number(value.intValue);
  const plain = value.stringValue ?? value.boolValue ?? value.doubleValue;
  if (plain === undefined) throw new Error(`no value: ${JSON.stringify(value)}`);
  return plain as AttributeValue;
}
