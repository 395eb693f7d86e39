import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chunkFrame } from './frames';

const route = /^\/model\/([^/]+)\/(invoke|invoke-with-response-stream)$/;
const BODY_VERSION = 'bedrock-2023-05-31';
const exceptions: Readonly<Record<number, string>> = {
  400: 'ValidationException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  429: 'ThrottlingException',
  529: 'ServiceUnavailableException',
};

type Json = Record<string, unknown>;

/**
 * The envelope of Amazon Bedrock in front of the Messages API of a simulator: model and mode in the path, version and
 * betas in the body, a stream as an AWS event stream. A signature is required but not verified.
 */
export class BedrockFront {
  private constructor(
    private readonly server: Server,
    private readonly simulatorUrl: string,
  ) {}

  static async start(simulatorUrl: string): Promise<BedrockFront> {
    const server = createServer();
    const front = new BedrockFront(server, simulatorUrl);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      front.answer(request, response).catch((error: unknown) => refuse(response, 500, String(error)));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return front;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = Buffer.concat(await request.toArray()).toString();
    const [, model, action] = route.exec(request.url ?? '') ?? [];
    if (model === undefined || request.method !== 'POST') return refuse(response, 404, 'No such operation.');
    if (request.headers.authorization?.startsWith('AWS4-HMAC-SHA256 Credential=') !== true)
      return refuse(response, 403, 'Missing Authentication Token');
    const { anthropic_version: version, anthropic_beta: betas, ...body } = JSON.parse(text) as Json;
    if (version !== BODY_VERSION) return refuse(response, 400, 'anthropic_version: Field required');
    const misplaced = ['model', 'stream'].find((name) => name in body);
    if (misplaced !== undefined) return refuse(response, 400, `${misplaced}: Extra inputs are not permitted`);
    const isStream = action === 'invoke-with-response-stream';
    const answer = await fetch(`${this.simulatorUrl}/v1/messages`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': 'sim-bedrock',
        'anthropic-version': '2023-06-01',
        ...(Array.isArray(betas) ? { 'anthropic-beta': betas.join(',') } : {}),
      },
      body: JSON.stringify({ ...body, model: modelOf(model), stream: isStream }),
    });
    const answered = await answer.text();
    if (!answer.ok) return refuse(response, answer.status, messageIn(answered));
    if (!isStream) return void response.setHeader('content-type', 'application/json').end(answered);
    response.setHeader('content-type', 'application/vnd.amazon.eventstream');
    response.end(Buffer.concat(eventsIn(answered).map(chunkFrame)));
  }
}

/** Inference profiles begin with an area: `us.anthropic.claude-opus-5-5`. */
const modelOf = (id: string): string => decodeURIComponent(id).replace(/^(?:[a-z]+\.)?anthropic\./, '');

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status === 529 ? 503 : status, {
    'content-type': 'application/json',
    'x-amzn-errortype': `${exceptions[status] ?? 'InternalServerException'}:http://internal.amazon.com/`,
  });
  response.end(JSON.stringify({ message }));
}

const messageIn = (body: string): string =>
  (JSON.parse(body) as { error: { message: string } }).error.message;

const eventsIn = (text: string): object[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? '') as object);
