import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type LooseObject = Readonly<Record<string, unknown>>;

/** A message as a receiver received it. */
export interface ReceivedAlert {
  readonly path: string;
  readonly body: LooseObject;
}

export const SIGNING_SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes, ok').toString('base64')}`;
export const ROUTING_KEY = 'R012345678901234567890123456789A';

interface AlertRefusal {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type AlertValidator = (request: IncomingMessage, text: string, body: LooseObject) => AlertRefusal | null;

const refuse = (status: number, body: string): AlertRefusal => ({ status, body });
const isText = (value: unknown, maxLength: number): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= maxLength;
const objectOf = (value: unknown): LooseObject =>
  typeof value === 'object' && value !== null ? (value as LooseObject) : {};
const listOf = (value: unknown): readonly LooseObject[] => (Array.isArray(value) ? value.map(objectOf) : []);
const onlyHas = (object: object, names: readonly string[]): boolean =>
  Object.keys(object).every((name) => names.includes(name));

/** docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, and docs.slack.dev/reference/block-kit/blocks */
const slack: AlertValidator = (_request, _text, body) => {
  const { text, blocks } = body;
  if (!onlyHas(body, ['text', 'blocks', 'unfurl_links'])) return refuse(400, 'invalid_payload');
  if (!isText(text, 40_000)) return refuse(400, 'no_text');
  if (/[<>]|&(?!amp;|lt;|gt;)/.test(text)) return refuse(400, 'invalid_payload');
  const isValid = Array.isArray(blocks) && blocks.length <= 50 && listOf(blocks).every(isSlackBlock);
  return isValid ? null : refuse(400, 'invalid_blocks');
};

function isSlackBlock(block: LooseObject): boolean {
  const { type, text, elements } = block;
  const isTextObject = (value: unknown, maxLength: number, types: readonly unknown[]): boolean => {
    const object = objectOf(value);
    return (
      types.includes(object['type']) &&
      isText(object['text'], maxLength) &&
      onlyHas(object, ['type', 'text', 'emoji'])
    );
  };
  const textTypes = ['plain_text', 'mrkdwn'];
  if (type === 'context')
    return (
      listOf(elements).length <= 10 && listOf(elements).every((each) => isTextObject(each, 3_000, textTypes))
    );
  if (!onlyHas(block, ['type', 'text'])) return false;
  if (type === 'header') return isTextObject(text, 150, ['plain_text']);
  return type === 'section' && isTextObject(text, 3_000, textTypes);
}

/** learn.microsoft.com/connectors/teams (28 KB), and adaptivecards.io/explorer */
const teams: AlertValidator = (_request, text, body) => {
  if (Buffer.byteLength(text) > 28 * 1_024) return refuse(413, 'RequestEntityTooLarge');
  const [attachment = {}, ...others] = listOf(body['attachments']);
  const card = objectOf(attachment['content']);
  const isValid =
    body['type'] === 'message' &&
    others.length === 0 &&
    attachment['contentType'] === 'application/vnd.microsoft.card.adaptive' &&
    card['type'] === 'AdaptiveCard' &&
    /^1\.[0-5]$/.test(String(card['version'])) &&
    listOf(card['body']).length > 0 &&
    listOf(card['body']).every(
      ({ type, inlines }) =>
        type === 'RichTextBlock' &&
        listOf(inlines).every((run) => run['type'] === 'TextRun' && isText(run['text'], 20_000)),
    ) &&
    listOf(card['actions']).every(
      ({ type, title, url }) => type === 'Action.OpenUrl' && isText(title, 200) && URL.canParse(String(url)),
    );
  return isValid ? null : refuse(400, '{"error":{"code":"TriggerInputSchemaMismatch"}}');
};

/** github.com/PagerDuty/api-schema, reference/events-v2 */
const pagerduty: AlertValidator = (_request, text, body) => {
  const invalid = (error: string): AlertRefusal =>
    refuse(
      400,
      JSON.stringify({ status: 'invalid event', message: 'Event object is invalid', errors: [error] }),
    );
  if (Buffer.byteLength(text) > 512 * 1_024) return refuse(413, '');
  const knownFields = [
    'routing_key',
    'event_action',
    'dedup_key',
    'payload',
    'client',
    'client_url',
    'links',
    'images',
  ];
  if (!onlyHas(body, knownFields)) return invalid('unknown field');
  if (body['routing_key'] !== ROUTING_KEY) return invalid("'routing_key' is invalid");
  const { event_action: action, dedup_key: dedupKey } = body;
  if (!['trigger', 'acknowledge', 'resolve'].includes(String(action)))
    return invalid("'event_action' is invalid");
  if (action !== 'trigger') return isText(dedupKey, 255) ? null : invalid("'dedup_key' is missing");
  if (!isText(dedupKey ?? 'x', 255)) return invalid("'dedup_key' is too long");
  const { summary, source, severity, timestamp } = objectOf(body['payload']);
  if (!isText(summary, 1_024)) return invalid("'payload.summary' is missing or too long");
  if (!isText(source, 1_024)) return invalid("'payload.source' is missing");
  if (!['critical', 'warning', 'error', 'info'].includes(String(severity)))
    return invalid("'payload.severity' is invalid");
  if (timestamp !== undefined && !(typeof timestamp === 'string' && Date.parse(timestamp) > 0))
    return invalid("'payload.timestamp' is invalid");
  return null;
};

/** github.com/standard-webhooks/standard-webhooks */
const webhook: AlertValidator = ({ headers }, text, body) => {
  const [id, timestamp] = [headers['webhook-id'], headers['webhook-timestamp']];
  const key = Buffer.from(SIGNING_SECRET.slice('whsec_'.length), 'base64');
  const expected = createHmac('sha256', key)
    .update(`${String(id)}.${String(timestamp)}.${text}`)
    .digest('base64');
  const isFresh = Math.abs(Date.now() / 1_000 - Number(timestamp)) < 300;
  if (headers['webhook-signature'] !== `v1,${expected}` || !isFresh) return refuse(401, 'bad signature');
  const isValid =
    isText(body['type'], 100) && typeof body['timestamp'] === 'string' && typeof body['data'] === 'object';
  return isValid ? null : refuse(400, 'not a webhook');
};

const validators: Readonly<Record<string, AlertValidator>> = { slack, teams, pagerduty, webhook };
/** Response of each receiver to an accepted message. */
const acceptances: Readonly<Record<string, AlertRefusal>> = {
  slack: { status: 200, body: 'ok' },
  teams: { status: 202 },
  pagerduty: { status: 202, body: '{"status":"success","message":"Event processed"}' },
  webhook: { status: 204 },
};

/** Alert receivers that reject what the vendors reject. `trouble` overrides a receiver's response. */
export class AlertReceivers {
  readonly accepted: ReceivedAlert[] = [];
  readonly refused: (ReceivedAlert & { readonly status: number })[] = [];
  override: (path: string) => AlertRefusal | null = () => null;

  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    readonly origin: string,
  ) {}

  static async open(): Promise<AlertReceivers> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const receivers = new AlertReceivers(server, origin);
    server.on('request', (request, response) => void receivers.answer(request, response));
    return receivers;
  }

  /** URL of a receiver; contains a token, as real webhook URLs do. */
  url(kind: string): string {
    return `${this.origin}/${kind}?sig=T0ken-${kind}`;
  }

  acceptedBy(kind: string): LooseObject[] {
    return this.accepted.filter(({ path }) => path === kind).map(({ body }) => body);
  }

  clear(): void {
    this.accepted.length = this.refused.length = 0;
    this.override = () => null;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString('utf8');
    const { pathname, search } = new URL(request.url ?? '', this.origin);
    const path = pathname.slice(1);
    const isJson = request.headers['content-type'] === 'application/json' && request.method === 'POST';
    const body = isJson ? (JSON.parse(text) as LooseObject) : {};
    const refusal =
      this.override(path) ??
      (search === `?sig=T0ken-${path}` && isJson
        ? validators[path]!(request, text, body)
        : refuse(403, 'invalid_token'));
    const { status, body: responseBody = '', headers = {} } = refusal ?? acceptances[path]!;
    if (refusal === null) this.accepted.push({ path, body });
    else this.refused.push({ path, body, status });
    response.writeHead(status, headers).end(responseBody);
  }
}
