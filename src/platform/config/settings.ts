import 'reflect-metadata';
import {
  allowedNetworks,
  type AllowedNetwork,
  duration,
  commaList,
  oneOf,
  origins,
  path,
  text,
  wholeNumber,
} from './readers';
import {
  httpGates,
  type HttpGateServiceSetting,
  httpTaps,
  type HttpTapSetting,
  webhookSecrets,
} from './http-services';
import { Setting } from './setting.decorator';
import { TelemetrySettings } from './telemetry-settings';

const timeOut = duration('100ms', '24h');

/** Holds all settings: read once, validated, frozen. */
export class Settings extends TelemetrySettings {
  @Setting({
    name: 'SUPPLIER_ALLOW',
    group: 'Suppliers',
    describe:
      'Private networks that suppliers, the token and key addresses of identity providers, and what extensions ask may live in: NETWORK, or HOST[:PORT]=NETWORK. Only there may they speak plain http or use a port other than 443.',
    as: allowedNetworks,
    default: '',
  })
  readonly supplierAllow: readonly AllowedNetwork[];

  @Setting({
    name: 'SUPPLIER_CONNECTIONS',
    group: 'Suppliers',
    describe: 'The most connections to one supplier address; as many calls may wait for one.',
    as: wholeNumber(1, 10_000),
    default: '500',
  })
  readonly supplierConnections: number;

  @Setting({
    name: 'SUPPLIER_REST',
    group: 'Suppliers',
    describe:
      'How long nothing may come behind an answer before its connection carries another call: a supplier that answers twice must not answer somebody else.',
    as: duration('0ms', '1s'),
    default: '5ms',
  })
  readonly supplierRestMs: number;

  @Setting({
    name: 'SUPPLIER_CONNECT_TIMEOUT',
    group: 'Suppliers',
    describe: 'How long opening a connection may take.',
    as: timeOut,
    default: '3s',
  })
  readonly supplierConnectTimeoutMs: number;

  @Setting({
    name: 'EXTENSIONS',
    group: 'Extensions',
    describe:
      'The extensions that are loaded at the start: paths or packages, with commas between them, each with #sha256=… where its files must have that digest (docs/extensions.md). Their own settings are variables that begin with EXT_<ID>_.',
    as: text('paths or packages with commas between them'),
    default: '',
  })
  readonly extensions: string;

  @Setting({
    name: 'HTTP_GATES',
    group: 'Extensions',
    describe:
      'Services that are asked about requests over HTTP: NAME=URL with commas between them, each with #timeout=1s&onError=closed&stages=request where it differs; stages are request, candidates and settled, with + between them (docs/extensions.md).',
    as: httpGates,
    default: '',
  })
  readonly httpGates: readonly HttpGateServiceSetting[];

  @Setting({
    name: 'HTTP_GATE_SECRETS',
    group: 'Extensions',
    describe:
      'The secret with which the requests to each of HTTP_GATES are signed: NAME=whsec_… with commas between them. A name that stands twice is signed with both, while one replaces the other.',
    as: webhookSecrets,
    default: '',
    secret: true,
  })
  readonly httpGateSecrets: ReadonlyMap<string, readonly Buffer[]>;

  @Setting({
    name: 'HTTP_TAPS',
    group: 'Extensions',
    describe:
      'Services that every settled request is sent to over HTTP: NAME=URL with commas between them, each with #timeout=10s where it differs (docs/extensions.md).',
    as: httpTaps,
    default: '',
  })
  readonly httpTaps: readonly HttpTapSetting[];

  @Setting({
    name: 'HTTP_TAP_SECRETS',
    group: 'Extensions',
    describe:
      'The secret with which the requests to each of HTTP_TAPS are signed: NAME=whsec_… with commas between them. A name that stands twice is signed with both, while one replaces the other.',
    as: webhookSecrets,
    default: '',
    secret: true,
  })
  readonly httpTapSecrets: ReadonlyMap<string, readonly Buffer[]>;

  @Setting({
    name: 'RECORDS_FILE',
    group: 'Extensions',
    describe: 'A file that every settled request is appended to, one line of JSON each.',
    as: path,
    unset: 'there is none',
  })
  readonly recordsFile?: string;

  @Setting({
    name: 'TAP_BACKLOG',
    group: 'Extensions',
    describe: 'The most settled requests that wait for one tap; where more do, the oldest leave undelivered.',
    as: wholeNumber(100, 100_000_000),
    default: '1000000',
  })
  readonly tapBacklog: number;

  @Setting({
    name: 'BUDGET_MIN_OUTPUT',
    group: 'Keys',
    describe:
      'The fewest output tokens an answer is bounded to near the end of a budget. Where not even so many can be paid for, the request is refused.',
    as: wholeNumber(1, 1_000_000),
    default: '256',
  })
  readonly budgetMinOutput: number;

  @Setting({
    name: 'UNKNOWN_FIELDS',
    group: 'Keys',
    describe:
      'Fields of a request that the gateway does not know. drop: they are left out and named in x-svc-dropped. forward: suppliers that check their input get them, and the complete context window is held. auto: drop if a budget or a wallet limits the caller, else forward. A key or an organisation can say otherwise.',
    as: oneOf('auto', 'drop', 'forward'),
    default: 'auto',
  })
  readonly unknownFields: 'auto' | 'drop' | 'forward';

  @Setting({
    name: 'SHARED_CONTENT',
    group: 'Suppliers',
    describe:
      "Ids of files, vector stores and other content in suppliers' accounts that requests of every key can refer to. Other ids are usable only by the key whose answers had them.",
    as: commaList,
    default: '',
  })
  readonly sharedContent: readonly string[];

  @Setting({
    name: 'AUTO_MODEL',
    group: 'Suppliers',
    describe: 'The model that answers requests for `auto` until enough is learned, and in doubt.',
    as: text(),
    unset: 'the first one that the caller may use',
  })
  readonly autoModel?: string;

  @Setting({
    name: 'SAFEGUARDS_MODEL',
    group: 'Suppliers',
    describe:
      'The model that reviews tool calls if a request has `safeguards` and its lane cannot review them, as a request of the same key.',
    as: text(),
    unset: 'such requests are refused on such lanes',
  })
  readonly safeguardsModel?: string;

  @Setting({
    name: 'CORS_ORIGINS',
    group: 'Server',
    describe:
      'Origins whose scripts may call the API from a browser, or * for all. A key in such a script is known to everybody who loads it.',
    as: origins,
    default: '',
  })
  readonly corsOrigins: readonly string[];

  @Setting({
    name: 'STREAM_PING_INTERVAL',
    group: 'Suppliers',
    describe: 'How long a stream may be silent before its caller gets a sign of life.',
    as: timeOut,
    default: '15s',
  })
  readonly streamPingIntervalMs: number;

  @Setting({
    name: 'SUPPLIER_FIRST_BYTE_TIMEOUT',
    group: 'Suppliers',
    describe: 'How long a whole answer may take to begin.',
    as: timeOut,
    default: '300s',
  })
  readonly supplierFirstByteTimeoutMs: number;

  @Setting({
    name: 'SUPPLIER_STREAM_FIRST_BYTE_TIMEOUT',
    group: 'Suppliers',
    describe: 'How long a streamed answer may take to begin.',
    as: timeOut,
    default: '60s',
  })
  readonly supplierStreamFirstByteTimeoutMs: number;

  @Setting({
    name: 'SUPPLIER_FIRST_TOKEN_TIMEOUT',
    group: 'Suppliers',
    describe: 'How long to wait for the first token while another lane could answer.',
    as: timeOut,
    default: '10s',
  })
  readonly supplierFirstTokenTimeoutMs: number;

  @Setting({
    name: 'SUPPLIER_IDLE_TIMEOUT',
    group: 'Suppliers',
    describe: 'How long a stream may stay silent between two pieces.',
    as: timeOut,
    default: '30s',
  })
  readonly supplierIdleTimeoutMs: number;

  @Setting({
    name: 'SUPPLIER_TOTAL_TIMEOUT',
    group: 'Suppliers',
    describe: 'How long one call to a supplier may take altogether.',
    as: timeOut,
    default: '20m',
  })
  readonly supplierTotalTimeoutMs: number;

  @Setting({
    name: 'LANE_FAILURES',
    group: 'Suppliers',
    describe: 'After how many failures in a row a lane is passed over.',
    as: wholeNumber(1, 1_000),
    default: '5',
  })
  readonly laneFailures: number;

  @Setting({
    name: 'LANE_FAILURE_WINDOW',
    group: 'Suppliers',
    describe: 'It is also passed over when most of at least twenty calls within this time failed.',
    as: timeOut,
    default: '10s',
  })
  readonly laneFailureWindowMs: number;

  @Setting({
    name: 'LANE_REST',
    group: 'Suppliers',
    describe: 'How long it then rests before one request tries it; up to a fifth more or less.',
    as: timeOut,
    default: '5s',
  })
  readonly laneRestMs: number;

  @Setting({
    name: 'LANE_LONGEST_REST',
    group: 'Suppliers',
    describe: 'Each time that request fails too, the rest doubles, up to this.',
    as: timeOut,
    default: '20s',
  })
  readonly laneLongestRestMs: number;

  @Setting({
    name: 'LANE_LONGEST_RETRY_AFTER',
    group: 'Suppliers',
    describe: 'The longest a supplier may ask to be left alone in Retry-After; more is cut to this.',
    as: timeOut,
    default: '10m',
  })
  readonly laneLongestRetryAfterMs: number;

  @Setting({
    name: 'LOG_LEVEL',
    group: 'Observation',
    describe: 'The least weighty line that is written.',
    as: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    default: 'info',
  })
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

  @Setting({
    name: 'LOG_FORMAT',
    group: 'Observation',
    describe: 'One JSON object a line, or lines for people.',
    as: oneOf('json', 'pretty'),
    unset: 'pretty at a terminal in development, else json',
  })
  readonly logFormat: 'json' | 'pretty';

  @Setting({
    name: 'METRICS_HOST',
    group: 'Observation',
    describe: 'The address the metrics server listens on.',
    as: text('an address or a host name', (value) => /^[\w.:-]+$/.test(value)),
    default: '127.0.0.1',
  })
  readonly metricsHost: string;

  @Setting({
    name: 'METRICS_PORT',
    group: 'Observation',
    describe: 'The port of /metrics; 0 switches it off.',
    as: wholeNumber(0, 65_535),
    default: '9464',
  })
  readonly metricsPort: number;

  @Setting({
    name: 'AUDIT_EXPORT_MAX_ROWS',
    group: 'Observation',
    describe: 'The most rows one audit export carries, newest first.',
    as: wholeNumber(1, 5_000_000),
    default: '50000',
  })
  readonly auditExportMaxRows: number;

  @Setting({
    name: 'REFUSAL_SAMPLE',
    group: 'Observation',
    describe:
      'Of the refusals of a key with one code in one minute, the first and then one in so many are kept as records; all are counted. 1 keeps all.',
    as: wholeNumber(1, 1_000_000),
    default: '100',
  })
  readonly refusalSample: number;

  @Setting({
    name: 'RECORD_RETENTION_MONTHS',
    group: 'Observation',
    describe: 'How many whole months of request records are kept beside the running one.',
    as: wholeNumber(1, 240),
    unset: 'all of them',
  })
  readonly recordRetentionMonths?: number;

  @Setting({
    name: 'ACTIVITY_RETENTION_MONTHS',
    group: 'Observation',
    describe: 'How many whole months of the activity log are kept beside the running one.',
    as: wholeNumber(1, 240),
    unset: 'all of them',
  })
  readonly activityRetentionMonths?: number;

  @Setting({
    name: 'ALERT_ALLOW',
    group: 'Observation',
    describe:
      "Private networks that the platform's own alert channels can use, besides the public internet: NETWORK, or HOST[:PORT]=NETWORK. Plain http and ports other than 443 are allowed only there.",
    as: allowedNetworks,
    default: '',
  })
  readonly alertAllow: readonly AllowedNetwork[];

  @Setting({
    name: 'ORGANISATION_ALERT_ALLOW',
    group: 'Observation',
    describe:
      'Private networks that alert channels of organisations can use, in the same form as ALERT_ALLOW.',
    as: allowedNetworks,
    default: '',
  })
  readonly organisationAlertAllow: readonly AllowedNetwork[];
}
