import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ProofGateway, startGateway } from '../../test/system/gateway';
import type { GatewayFile } from '../../test/system/node';

/** The supplier answers this to the next call. */
export interface Script {
  readonly status?: number;
  readonly type: string;
  readonly pieces: readonly Buffer[];
}

export interface Received {
  readonly status: number;
  readonly requestId: string;
  readonly body: string;
  readonly bytes: Buffer;
  readonly tokensIn: string;
  readonly tokensOut: string;
  readonly cost: string;
  /** The supplier had written so many pieces when the caller got the first bytes. */
  readonly firstAfter: number;
}

export const models: Readonly<Record<string, string>> = {
  chat: 'on-chat',
  responses: 'on-chat',
  messages: 'on-messages',
  gemini: 'on-gemini',
  bedrock: 'on-bedrock',
  choices: 'on-chat',
  embeddings: 'of-embedding',
  moderation: 'of-moderation',
  image: 'of-image',
  rerank: 'of-rerank',
  transcription: 'of-transcription',
  verbose: 'of-transcription',
};
/** Models that a caller asks for by another name than that of the wire. */
export const NATIVE = 'on-native';
export const SPEECH = 'of-speech';

/** The caller is listened to for so long after each piece, as long as nothing has come. */
export const QUICK_MS = 5;
export const PATIENT_MS = 250;

/**
 * The artefact before a supplier that says what it is told to. Pieces are chunks of their own; until the caller has
 * received something, the next one waits a little.
 */
export class Testbed {
  private script: Script = { type: '', pieces: [] };
  private patienceMs = 0;
  private written = 0;
  private firstAfter = -1;
  private heard = (): void => undefined;
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });

  private constructor(
    private readonly gateway: ProofGateway,
    private readonly supplier: Server,
  ) {}

  static async open(): Promise<Testbed> {
    const supplier = createServer();
    supplier.listen(0, '127.0.0.1');
    await once(supplier, 'listening');
    const gateway = await startGateway({
      PUBLIC_REQUESTS_PER_MINUTE: '1000000',
      AWS_ID: 'AKIAEXAMPLE',
      AWS_SECRET: 'secret-of-the-proof',
    });
    const testbed = new Testbed(gateway, supplier);
    supplier.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void testbed.answer(request, response);
    });
    const { port } = supplier.address() as AddressInfo;
    await gateway.node.apply(catalogueOf(`http://127.0.0.1:${port}`));
    return testbed;
  }

  /** A body that is a form goes as one; any other as JSON. */
  async ask(path: string, body: object, script: Script, patienceMs = 0): Promise<Received> {
    this.script = script;
    this.patienceMs = patienceMs;
    this.written = 0;
    this.firstAfter = -1;
    const encoded = new Response(body instanceof FormData ? body : JSON.stringify(body));
    const type = body instanceof FormData ? encoded.headers.get('content-type')! : 'application/json';
    const bytes = Buffer.from(await encoded.arrayBuffer());
    return new Promise((resolve, reject) => {
      const sending = request(
        this.gateway.node.url + path,
        {
          method: 'POST',
          agent: this.agent,
          headers: {
            authorization: `Bearer ${this.gateway.node.keys.demo}`,
            'content-type': type,
            'content-length': bytes.length,
          },
        },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => {
            if (this.firstAfter === -1) this.firstAfter = this.written;
            this.heard();
            chunks.push(chunk);
          });
          answer.on('error', reject);
          answer.on('end', () => {
            const told = (name: string): string =>
              String(answer.headers[name] ?? answer.trailers[name] ?? '');
            resolve({
              status: answer.statusCode ?? 0,
              requestId: told('x-request-id'),
              body: Buffer.concat(chunks).toString(),
              bytes: Buffer.concat(chunks),
              tokensIn: told('x-svc-input-tokens'),
              tokensOut: told('x-svc-output-tokens'),
              cost: told('x-svc-cost-usd'),
              firstAfter: this.firstAfter,
            });
          });
        },
      );
      sending.on('error', reject);
      sending.end(bytes);
    });
  }

  /** Of these requests, those that were charged. */
  async charged(requestIds: readonly string[]): Promise<string[]> {
    const rows = await this.gateway.rows.query<{ request_id: string }>(
      'SELECT request_id FROM request_record WHERE request_id = ANY($1) AND cost_nano > 0',
      [requestIds],
    );
    return rows.map(({ request_id: id }) => id);
  }

  /** The sources of usage on record are read once all of them are there: records are written in batches. */
  async sources(requestIds: readonly string[]): Promise<Map<string, string>> {
    const wanted = new Set(requestIds);
    for (const deadline = Date.now() + 10_000; ;) {
      const rows = await this.gateway.rows.query<{ request_id: string; usage_source: string }>(
        'SELECT request_id, usage_source FROM request_record WHERE request_id = ANY($1)',
        [[...wanted]],
      );
      if (rows.length === wanted.size || Date.now() > deadline)
        return new Map(rows.map(({ request_id: id, usage_source: source }) => [id, source]));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async close(): Promise<void> {
    this.agent.destroy();
    await this.gateway.stop();
    this.supplier.closeAllConnections();
    this.supplier.close();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { script } = this;
    request.resume();
    await once(request, 'end');
    response.writeHead(script.status ?? 200, { 'content-type': script.type });
    response.flushHeaders();
    for (const piece of script.pieces) {
      if (response.destroyed) return;
      this.written += 1;
      response.write(piece);
      if (this.patienceMs > 0 && this.firstAfter === -1) await this.listen();
    }
    response.end();
  }

  /** Until the caller has received something, or for as long as was asked for. */
  private listen(): Promise<void> {
    return new Promise((resolve) => {
      const enough = setTimeout(resolve, this.patienceMs);
      this.heard = (): void => {
        clearTimeout(enough);
        resolve();
      };
    });
  }
}

const price = { input: 0.01, output: 0.02 };

/** A supplier of every style, all of them at one address, and a model of every kind. */
function catalogueOf(base_url: string): GatewayFile {
  const supplier = (style: string, rest: object = {}): object => ({
    style,
    base_url,
    regions: ['eu'],
    ...rest,
  });
  const keyed = { api_key: '${SUPPLIER_KEY}' };
  const signing = { kind: 'sigv4', access_key_id: '${AWS_ID}', secret_access_key: '${AWS_SECRET}' };
  const pool = { kind: 'oauth-pool', access_token: '${SUPPLIER_KEY}', refresh_token: '${SUPPLIER_KEY}' };
  const oauth = { token_url: `${base_url}/token`, client_id: 'proof' };
  const model = (provider: string, kind: string, rest: object): object => ({
    kind,
    owned_by: 'proof',
    lanes: [{ provider, model: 'upstream/m', region: 'eu' }],
    ...rest,
  });
  const chatting = { context_tokens: 200_000, max_output_tokens: 8_000, price };
  const chat = ['chat', 'messages', 'gemini', 'bedrock', 'native'].map((name) => [
    `on-${name}`,
    model(name, 'chat', chatting),
  ]);
  const others = ['embedding', 'moderation', 'image', 'transcription', 'speech'].map((kind) => [
    `of-${kind}`,
    model('chat', kind, { price }),
  ]);
  return {
    providers: {
      chat: supplier('openai-style', { ...keyed, settings: { profile: 'openai' } }),
      messages: supplier('messages-style', keyed),
      gemini: supplier('gemini', keyed),
      bedrock: supplier('bedrock', { credentials: { one: signing } }),
      native: supplier('native-oauth', { credentials: { one: pool }, settings: { oauth } }),
      rerank: supplier('cohere-rerank', keyed),
    },
    models: Object.fromEntries([
      ...chat,
      ...others,
      ['of-rerank', model('rerank', 'rerank', { price: { input: 0, output: 0, per_call: 0.002 } })],
    ]) as Record<string, object>,
  };
}
