import 'reflect-metadata';
import { ProcessSettings } from './process-settings';
import { file, list, oneOf, type SettingReader, text, toggle, wholeNumber } from './readers';
import { Setting } from './setting.decorator';

const group = 'Telemetry';
const none = 'nothing is sent';
const milliseconds = wholeNumber(1, 3_600_000);

const endpoint = text(
  'an address starting with https:// or http://, without a user or a password in it',
  (value) => {
    const url = URL.canParse(value) ? new URL(value) : null;
    return url !== null && /^https?:$/.test(url.protocol) && url.hostname !== '' && url.username === '';
  },
);

/** Pairs as in the `baggage` header; values can be percent-encoded. */
const pairs = (isName: RegExp, expects: string): SettingReader<Readonly<Record<string, string>>> => ({
  expects,
  read(value) {
    const result: Record<string, string> = {};
    for (const part of list(value)) {
      const at = part.indexOf('=');
      const name = part.slice(0, at).trim();
      const decoded = decode(part.slice(at + 1).trim());
      if (at < 1 || !isName.test(name) || decoded === undefined || /[\r\n\0]/.test(decoded)) return undefined;
      result[name] = decoded;
    }
    return result;
  },
});

function decode(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

const headers = pairs(
  /^[\w!#$%&'*+.^`|~-]+$/,
  'NAME=value with commas between them, escaped as in an address',
);
const attributes = pairs(
  /^[^\s=,]{1,255}$/,
  'name=value with commas between them, such as deployment.environment.name=production',
);

const share: SettingReader<number> = {
  expects: 'a number from 0 to 1, such as 0.01',
  read(value) {
    const number = /^(?:\d+(?:\.\d+)?|\.\d+)$/.test(value) ? Number(value) : NaN;
    return number <= 1 ? number : undefined;
  },
};

const names: SettingReader<readonly string[]> = {
  expects: 'all, or a comma list of names',
  read: (value) => list(value),
};

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/**
 * Traces and metrics by OpenTelemetry. The names are those of its specification:
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ and
 * https://opentelemetry.io/docs/specs/otel/protocol/exporter/
 */
export abstract class TelemetrySettings extends ProcessSettings {
  @Setting({
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    group,
    describe:
      'Where traces and metrics go by OTLP over HTTP, such as a collector; /v1/traces and /v1/metrics are added (docs/telemetry.md).',
    as: endpoint,
    unset: none,
  })
  readonly otlpEndpoint?: string;

  @Setting({
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    group,
    describe: 'Where traces go instead, with nothing added.',
    as: endpoint,
    unset: 'as OTEL_EXPORTER_OTLP_ENDPOINT says',
  })
  readonly otlpTracesEndpoint?: string;

  @Setting({
    name: 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    group,
    describe: 'Where metrics go instead, with nothing added.',
    as: endpoint,
    unset: 'as OTEL_EXPORTER_OTLP_ENDPOINT says',
  })
  readonly otlpMetricsEndpoint?: string;

  @Setting({
    name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    group,
    describe: 'How they are written. gRPC is not spoken.',
    as: oneOf('http/protobuf', 'http/json'),
    default: 'http/protobuf',
  })
  readonly otlpProtocol: 'http/protobuf' | 'http/json';

  @Setting({
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    group,
    describe: 'Header fields for the receiver, such as one with its key.',
    as: headers,
    default: '',
    secret: true,
  })
  readonly otlpHeaders: Readonly<Record<string, string>>;

  @Setting({
    name: 'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    group,
    describe: 'The same for the receiver of traces alone; they come on top.',
    as: headers,
    default: '',
    secret: true,
  })
  readonly otlpTracesHeaders: Readonly<Record<string, string>>;

  @Setting({
    name: 'OTEL_EXPORTER_OTLP_METRICS_HEADERS',
    group,
    describe: 'The same for the receiver of metrics alone; they come on top.',
    as: headers,
    default: '',
    secret: true,
  })
  readonly otlpMetricsHeaders: Readonly<Record<string, string>>;

  @Setting({
    name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    group,
    describe: 'How many milliseconds one delivery may take, with its repetitions.',
    as: milliseconds,
    default: '10000',
  })
  readonly otlpTimeoutMs: number;

  @Setting({
    name: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    group,
    describe: 'Whether deliveries are compressed.',
    as: oneOf('none', 'gzip'),
    default: 'none',
  })
  readonly otlpCompression: 'none' | 'gzip';

  @Setting({
    name: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    group,
    describe: 'A file with the certificate authorities that the receiver is checked by.',
    as: file,
    unset: 'those of Node',
  })
  readonly otlpCertificate?: string;

  @Setting({
    name: 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    group,
    describe: 'A file with the certificate that the receiver knows this service by.',
    as: file,
    unset: 'none',
  })
  readonly otlpClientCertificate?: string;

  @Setting({
    name: 'OTEL_EXPORTER_OTLP_CLIENT_KEY',
    group,
    describe: 'The file with its key.',
    as: file,
    unset: 'none',
  })
  readonly otlpClientKey?: string;

  @Setting({
    name: 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE',
    group,
    describe:
      'Whether counts are sent since the start, or since the last delivery (delta, lowmemory), as Datadog wants them.',
    as: oneOf('cumulative', 'delta', 'lowmemory'),
    default: 'cumulative',
  })
  readonly otlpTemporality: 'cumulative' | 'delta' | 'lowmemory';

  @Setting({
    name: 'OTEL_SDK_DISABLED',
    group,
    describe: 'Switches all of it off.',
    as: toggle,
    default: 'false',
  })
  readonly otelDisabled: boolean;

  @Setting({
    name: 'OTEL_TRACES_EXPORTER',
    group,
    describe: 'none: no traces.',
    as: oneOf('otlp', 'none'),
    default: 'otlp',
  })
  readonly otelTracesExporter: 'otlp' | 'none';

  @Setting({
    name: 'OTEL_METRICS_EXPORTER',
    group,
    describe: 'none: no metrics by OTLP; those of METRICS_PORT stay.',
    as: oneOf('otlp', 'none'),
    default: 'otlp',
  })
  readonly otelMetricsExporter: 'otlp' | 'none';

  @Setting({
    name: 'OTEL_TRACES_SAMPLER',
    group,
    describe:
      'Which requests are traced. With parentbased_, a caller that sends traceparent decides about its own.',
    as: oneOf(...samplers),
    default: 'parentbased_always_on',
  })
  readonly otelSampler: (typeof samplers)[number];

  @Setting({
    name: 'OTEL_TRACES_SAMPLER_ARG',
    group,
    describe: 'The share of traces that a sampler with traceidratio keeps.',
    as: share,
    default: '1',
  })
  readonly otelSamplerShare: number;

  @Setting({
    name: 'OTEL_SERVICE_NAME',
    group,
    describe: 'What receivers call this service.',
    as: text('a name of at most 255 characters', ({ length }) => length <= 255),
    unset: 'switchboard',
  })
  readonly otelServiceName?: string;

  @Setting({
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    group,
    describe: 'What else is said of it.',
    as: attributes,
    default: '',
  })
  readonly otelResourceAttributes: Readonly<Record<string, string>>;

  @Setting({
    name: 'OTEL_BSP_SCHEDULE_DELAY',
    group,
    describe: 'After how many milliseconds finished spans are sent.',
    as: milliseconds,
    default: '5000',
  })
  readonly otelSpanDelayMs: number;

  @Setting({
    name: 'OTEL_BSP_MAX_QUEUE_SIZE',
    group,
    describe: 'How many finished spans wait at most; further ones are dropped and counted.',
    as: wholeNumber(1, 1_000_000),
    default: '2048',
  })
  readonly otelSpanQueue: number;

  @Setting({
    name: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
    group,
    describe: 'How many spans are sent at once.',
    as: wholeNumber(1, 1_000_000),
    default: '512',
  })
  readonly otelSpanBatch: number;

  @Setting({
    name: 'OTEL_BSP_EXPORT_TIMEOUT',
    group,
    describe: 'After how many milliseconds a delivery of spans is given up.',
    as: milliseconds,
    default: '30000',
  })
  readonly otelSpanTimeoutMs: number;

  @Setting({
    name: 'OTEL_METRIC_EXPORT_INTERVAL',
    group,
    describe: 'How many milliseconds lie between two deliveries of metrics.',
    as: milliseconds,
    default: '60000',
  })
  readonly otelMetricIntervalMs: number;

  @Setting({
    name: 'OTEL_METRIC_EXPORT_TIMEOUT',
    group,
    describe: 'After how many milliseconds a delivery of metrics is given up.',
    as: milliseconds,
    default: '30000',
  })
  readonly otelMetricTimeoutMs: number;

  @Setting({
    name: 'OTEL_SEMCONV_STABILITY_OPT_IN',
    group,
    describe:
      'A comma list for all programs of a house; with gen_ai_latest_experimental in it, TELEMETRY_CONVENTIONS is latest.',
    as: text(),
    default: '',
  })
  readonly otelStability: string;

  @Setting({
    name: 'TELEMETRY_CONVENTIONS',
    group,
    describe:
      'The names for calls of models: the latest of the GenAI conventions, or those of 1.41 that many receivers still expect.',
    as: oneOf('latest', '1.41'),
    default: 'latest',
  })
  readonly telemetryConventions: 'latest' | '1.41';

  @Setting({
    name: 'TRACE_CONTEXT_TO',
    group,
    describe:
      "Which providers are told of the trace (traceparent, tracestate): all, or their names. It says nothing about the caller, and is worth it where a provider's own traces reach the same receiver.",
    as: names,
    unset: 'none',
    default: '',
  })
  readonly traceContextTo: readonly string[];

  @Setting({
    name: 'TELEMETRY_KEY_ID',
    group,
    describe: 'Spans carry the public id of the key, as switchboard.key.id. Metrics never do.',
    as: toggle,
    default: 'false',
  })
  readonly telemetryKeyId: boolean;

  @Setting({
    name: 'TELEMETRY_CONTENT',
    group,
    describe:
      'Questions and answers in spans: never, or of those organisations whose owners switched it on (docs/telemetry.md).',
    as: oneOf('never', 'organisations'),
    default: 'never',
  })
  readonly telemetryContent: 'never' | 'organisations';

  @Setting({
    name: 'TELEMETRY_CONTENT_BYTES',
    group,
    describe: 'The most bytes of each of the four attributes of a span that hold content; more is cut.',
    as: wholeNumber(256, 262_144),
    default: '8192',
  })
  readonly telemetryContentBytes: number;
}
